/** Volumes, templates, registries, activities and what the account shows beside them (§2, §4 gaps). */
import type { Dialect, Form } from '../dialect.ts';
import { field, renamed, without } from './service-fields.ts';
import { iso } from './service-values.ts';

const volume = (form: Form): Pick<Dialect, 'forms'> => ({ forms: { volume: form } });
const template = (form: Form): Pick<Dialect, 'forms'> => ({ forms: { template: form } });
const registry = (form: Form): Pick<Dialect, 'forms'> => ({ forms: { registry: form } });

const volumes: readonly Dialect[] = [
  {
    name: 'volume-error-object',
    silence: 'service and volume error',
    plays: '`{code, message, retryable}` for a volume, also when nothing is wrong',
    ...volume((record) => ({ ...record, error: { code: 0, message: '', retryable: false } })),
  },
  {
    name: 'volume-status-words',
    silence: 'status of a volume',
    plays: '`creating` and `resizing` for what the contract does not name',
    ...volume(
      field(
        'status',
        (status) => ({ provisioning: 'creating', expanding: 'resizing' })[status as string] ?? status,
      ),
    ),
  },
  {
    name: 'volume-status-silent',
    silence: 'status of a volume',
    plays: '`ready` at once and all the time: only `provisioned` and the sizes show more',
    ...volume(
      field('status', (status) => (status === 'deleting' || status === 'deleted' ? status : 'ready')),
    ),
  },
  {
    name: 'volume-status-attached',
    silence: 'status of a volume',
    plays: '`attached` in place of `ready` while a service uses it',
    held: { 'StorageVolume/data': 'UnknownState' },
    notSimulated: 'a status that is not known holds the object',
    ...volume((record) =>
      record.status === 'ready' && record.serviceId !== null ? { ...record, status: 'attached' } : record,
    ),
  },
  {
    name: 'volume-provisioned-object',
    silence: 'provisioned',
    plays: '`{sizeGb, at}`',
    ...volume((record) => ({
      ...record,
      provisioned: record.provisioned ? { sizeGb: record.sizeGb } : null,
    })),
  },
  {
    name: 'volume-provisioned-number',
    silence: 'provisioned',
    plays: 'the gigabytes that are allocated',
    ...volume((record) => ({ ...record, provisioned: record.provisioned ? record.sizeGb : 0 })),
  },
  {
    name: 'volume-provisioned-text',
    silence: 'provisioned',
    plays: '`"true"` and `"false"`',
    ...volume(field('provisioned', String)),
  },
  {
    name: 'volume-provisioned-hidden',
    silence: 'provisioned',
    plays: 'not shown',
    ...volume(without('provisioned')),
  },
  {
    name: 'volume-requested-null',
    silence: 'sizes of a volume',
    plays: '`requestedSizeGb` only while it grows',
    ...volume((record) => ({
      ...record,
      requestedSizeGb: record.requestedSizeGb === record.sizeGb ? null : record.requestedSizeGb,
    })),
  },
  {
    name: 'volume-size-requested',
    silence: 'sizes of a volume',
    plays: '`sizeGb` is what was asked for, from the start; no `requestedSizeGb`',
    ...volume(({ requestedSizeGb, ...record }) => ({ ...record, sizeGb: requestedSizeGb })),
  },
  {
    name: 'volume-size-texts',
    silence: 'sizes of a volume',
    plays: 'sizes as texts',
    forms: {
      volume: (record) => ({
        ...record,
        sizeGb: String(record.sizeGb),
        requestedSizeGb: String(record.requestedSizeGb),
      }),
    },
  },
  {
    name: 'volume-size-null',
    silence: 'sizes of a volume',
    plays: '`sizeGb` is null until there is something',
    ...volume((record) => (record.provisioned ? record : { ...record, sizeGb: null })),
  },
  {
    name: 'volume-user-object',
    silence: 'mode and serviceId of a volume',
    plays: '`serviceId` as `{id, name}`',
    ...volume(field('serviceId', (id) => ({ id }))),
  },
  {
    name: 'volume-user-empty',
    silence: 'mode and serviceId of a volume',
    plays: '`serviceId: ""` when nothing uses it',
    ...volume((record) => ({ ...record, serviceId: record.serviceId ?? '' })),
  },
  {
    name: 'volume-user-hidden',
    silence: 'mode and serviceId of a volume',
    plays: 'no `serviceId`: only the service shows what it uses',
    ...volume(without('serviceId')),
  },
  {
    name: 'volume-mode-hidden',
    silence: 'mode and serviceId of a volume',
    plays: 'no `mode`',
    ...volume(without('mode')),
  },
  {
    name: 'volume-mode-upper-case',
    silence: 'letter case of values',
    plays: '`mode: INDEPENDENT`',
    ...volume(field('mode', (mode) => mode.toUpperCase())),
  },
  {
    name: 'volume-name-suffixed',
    silence: 'form of a name',
    plays: 'names of volumes with a suffix of its own',
    ...volume(field('name', (name) => `${name}-x7f2`)),
  },
  {
    name: 'volume-name-upper-case',
    silence: 'form of a name',
    plays: 'names of volumes in upper case',
    ...volume(field('name', (name) => name.toUpperCase())),
  },
  {
    name: 'volume-name-hidden',
    asksPeople: true,
    hidesMarks: true,
    silence: 'form of a name',
    plays: 'volumes without names',
    ...volume(without('name')),
  },
];

const templates: readonly Dialect[] = [
  {
    name: 'template-nested',
    silence: 'returned template',
    plays: '`{id, revision, builtIn, spec: {…}}`',
    ...template(({ id, revision, builtIn, createdAt, ...spec }) => ({
      id,
      revision,
      builtIn,
      createdAt,
      spec,
    })),
  },
  {
    name: 'template-flag-public',
    silence: 'returned template',
    plays: '`public` in place of `builtIn`',
    ...template(renamed('builtIn', 'public')),
  },
  {
    name: 'template-flag-scope',
    silence: 'returned template',
    plays: '`scope: workspace | system` in place of `builtIn`',
    ...template(({ builtIn, ...record }) => ({ ...record, scope: builtIn ? 'system' : 'workspace' })),
  },
  {
    name: 'template-flag-text',
    silence: 'returned template',
    plays: '`builtIn` as a text',
    ...template(field('builtIn', String)),
  },
  {
    name: 'template-variables-objects',
    silence: 'returned template',
    plays: '`requiredEnvironment: [{name}]`',
    ...template(field('requiredEnvironment', (names) => names.map((name: string) => ({ name })))),
  },
  {
    name: 'template-only-given',
    silence: 'returned template',
    plays: 'no defaults shown: only id, revision, name, image and what was given',
    ...template((record) => {
      const { id, revision, name, image, builtIn, description, command, resources } = record;
      const given = {
        ...(description ? { description } : {}),
        ...(command?.length > 0 ? { command } : {}),
      };
      return { id, revision, name, image, builtIn, resources, ...given };
    }),
  },
  {
    name: 'template-key-refused',
    silence: 'keys of a template specification',
    plays: 'refuses the key `command` of a specification',
    conduct: { unknownKeys: { template: 'command' } },
    held: { 'ServiceTemplate/base': 'Refused' },
  },
];

const registries: readonly Dialect[] = [
  {
    name: 'registry-linked-ids',
    silence: 'registry metadata',
    plays: '`linkedServices` as ids',
    ...registry(field('linkedServices', (linked) => linked.map(({ id }: { id: string }) => id))),
  },
  {
    name: 'registry-linked-count',
    silence: 'registry metadata',
    plays: '`linkedServices` as a number',
    ...registry(field('linkedServices', (linked) => linked.length)),
  },
  {
    name: 'registry-linked-map',
    silence: 'registry metadata',
    plays: '`linkedServices` as a map of ids to names',
    ...registry(
      field('linkedServices', (linked) =>
        Object.fromEntries(linked.map(({ id, name }: { id: string; name: string }) => [id, name])),
      ),
    ),
  },
  {
    name: 'registry-linked-hidden',
    silence: 'registry metadata',
    plays: 'services in `services: [{serviceId}]`',
    ...registry(({ linkedServices, ...record }) => ({
      ...record,
      services: linkedServices.map(({ id }: { id: string }) => ({ serviceId: id })),
    })),
  },
  {
    name: 'registry-repository-parts',
    silence: 'registry metadata',
    plays: '`repository` as `{host, path}`',
    held: { 'ImageRegistry/images': 'AnswerUnreadable' },
    stays: ['registry ghcr.io/secret/app'],
    notSimulated: 'what decides and can not be read holds the object',
    ...registry(
      field('repository', (repository) => {
        const [host, ...path] = repository.split('/');
        return { host, path: path.join('/') };
      }),
    ),
  },
  {
    name: 'registry-repository-hidden',
    asksPeople: true,
    silence: 'registry metadata',
    plays: 'the repository under `name`',
    ...registry(renamed('repository', 'name')),
  },
  {
    name: 'registry-repository-upper-case',
    silence: 'registry metadata',
    plays: 'the repository in upper case',
    ...registry(field('repository', (repository) => repository.toUpperCase())),
  },
  {
    name: 'registry-key-refused',
    silence: 'keys of a registry create spec',
    plays: 'refuses the key `repository`',
    conduct: { unknownKeys: { registry: 'repository' } },
    held: { 'ImageRegistry/images': 'Refused', 'ContainerService/api': 'RegistryNotReady' },
  },
];

const activities: readonly Dialect[] = [
  {
    name: 'activity-id-key',
    silence: 'record of an activity',
    plays: '`activityId` in place of `id`',
    forms: { activity: renamed('id', 'activityId') },
  },
  {
    name: 'activity-texts',
    silence: 'record of an activity',
    plays: 'a list of ids',
    forms: { activity: ({ id }) => id },
  },
  {
    name: 'activity-state',
    silence: 'record of an activity',
    plays: '`state: active`, times as texts',
    forms: {
      activity: ({ registeredAt, lastHeartbeatAt, ...record }) => ({
        ...record,
        state: 'active',
        registeredAt: iso(registeredAt),
        heartbeat: { at: iso(lastHeartbeatAt) },
      }),
    },
  },
  {
    name: 'activity-history',
    silence: 'record of an activity',
    plays: 'what was released stays in the list, with `state: released`, all else with `state: active`',
    conduct: { keepsReleased: true },
    forms: {
      activity: ({ releasedAt, ...record }) => ({
        ...record,
        state: releasedAt === undefined ? 'active' : 'released',
      }),
    },
  },
  {
    name: 'activity-history-time',
    silence: 'record of an activity',
    plays: 'what was released stays in the list, with `releasedAt`; all else has null there',
    conduct: { keepsReleased: true },
    forms: { activity: (record) => ({ releasedAt: null, ...record }) },
  },
  {
    name: 'activity-answer-more',
    silence: 'record of an activity',
    plays: 'the answer to a heartbeat has more fields, its id in upper case',
    forms: {
      activityAnswer: (record) => ({ ...record, id: record.id.toUpperCase(), status: 'ok', fresh: 'yes' }),
    },
  },
];

export const storage: readonly Dialect[] = [...volumes, ...templates, ...registries, ...activities];
