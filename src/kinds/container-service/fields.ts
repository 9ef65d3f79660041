/** The fields of a service as the planner compares them: what the spec asks for beside what is observed. */
import type { wire } from '../../api/index.ts';
import { canonicalId } from '../../base/index.ts';
import {
  environmentDigest,
  fieldDigests,
  geographyField,
  isFormOfName,
  isSameImage,
  regionField,
  shownDigests,
  type Difference,
  type Field,
} from '../../engine/plan/index.ts';
import { remoteName, type ContainerServiceSpec } from '../../resources/index.ts';
import { shownEnvironment } from './environment.ts';
import type { ServiceInputs } from './inputs.ts';
import { removedFields } from './removed-fields.ts';
import { storageField } from './storage.ts';
import { defaultOfApi } from './template.ts';
import { variableOrigins, withOrigin } from './variables.ts';

export function patchFields(spec: ContainerServiceSpec, service: wire.Service | undefined): Field[] {
  return [
    {
      name: 'image',
      path: 'image',
      desired: spec.image,
      observed: service?.image,
      isAsGood: isSameImageText,
      isSentUnknown: true,
    },
    {
      name: 'command',
      path: 'command',
      desired: spec.command,
      observed: service?.command,
      isAsGood: isSameCommandText,
      isSentUnknown: true,
    },
    {
      name: 'httpPort',
      path: 'httpPort',
      desired: spec.httpPort,
      observed: service?.httpPort,
      isSentUnknown: true,
    },
  ];
}

function isSameImageText(desired: unknown, observed: unknown): boolean {
  return typeof desired === 'string' && typeof observed === 'string' && isSameImage(desired, observed);
}

/** An API may show a command as one text, in the quoting of a shell or in JSON. */
function isSameCommandText(desired: unknown, observed: unknown): boolean {
  if (!Array.isArray(desired) || typeof observed !== 'string') return false;
  return words(desired.join(' ')) === words(observed);
}

function words(text: string): string {
  return text.replaceAll(/["'\\[\],\s]+/g, ' ').trim();
}

/** The API may hide single members. While the visible ones are as desired, the resources count as hidden. */
export function resourcesField(spec: ContainerServiceSpec, service: wire.Service | undefined): Field {
  const { resources: desired } = spec;
  const seen = service?.resources;
  const shown = resourceMembers.filter((name) => seen?.[name] !== undefined);
  const isHidden =
    shown.length < resourceMembers.length && shown.every((name) => seen?.[name] === desired?.[name]);
  const observed = isHidden ? undefined : Object.fromEntries(shown.map((name) => [name, seen?.[name]]));
  return { name: 'resources', path: 'resources', desired, observed, isSentUnknown: true };
}

const resourceMembers = ['gpuCount', 'cpu', 'memoryGb'] as const;

/** 0 and null both mean "never" (§2: null disables). */
export function sleepField(spec: ContainerServiceSpec, service: wire.Service | undefined): Field {
  const desired = spec.sleepAfterMinutes === undefined ? undefined : spec.sleepAfterMinutes || 'never';
  const shown = service?.sleepAfterMinutes;
  const observed = shown === null || shown === 0 ? 'never' : shown;
  return { name: 'sleepAfterMinutes', path: 'sleepAfterMinutes', desired, observed, isSentUnknown: true };
}

/**
 * Region, name and storage are fixed at creation. The API may resolve some of them to other values than were
 * requested. Geography, and storage that is created with the service, are compared with what was applied. They are
 * also in place when they are written as the API shows them.
 */
export function immutableFields(inputs: ServiceInputs, service: wire.Service | undefined): Field[] {
  const { spec } = inputs.object;
  const { volume } = inputs;
  const isNamed = spec.storage?.volumeRef !== undefined || spec.storage?.volumeId !== undefined;
  // What a service has is only compared with what its document names.
  const isWanted = isNamed || service === undefined;
  const volumeId = volume.kind === 'problem' || volume.kind === 'none' || !isWanted ? undefined : volume.id;
  const named = spec.adopt ? spec.serviceName : remoteName('ContainerService', inputs.object.name, spec);
  return [
    nameField(inputs, named, service?.name),
    regionField(spec.region, service?.region),
    geographyField(spec.geography, service?.geography),
    storageField(spec, service && inputs.attachedVolume),
    {
      name: 'volumeId',
      path: 'storage.volumeId',
      desired: volumeId,
      observed: service?.volumeId,
      isAsGood: isSameId,
    },
  ];
}

/**
 * No request renames a service (§2 patch). So what the API shows of the name that it was created with is that name, maybe in a form of
 * the API's own; an answer that was lost could not tell (`shownAs`).
 */
function nameField({ record, owner }: ServiceInputs, desired: string | undefined, observed?: string): Field {
  const applied = record.applied['serviceName'];
  const isSameAsk = () => applied === undefined || applied === owner.digestKey.digest(desired);
  const isAsGood = (asked: unknown, shown: unknown) => isFormOfName(asked, shown) && isSameAsk();
  return { name: 'serviceName', path: 'serviceName', desired, observed, isAsGood };
}

function isSameId(desired: unknown, observed: unknown): boolean {
  return (
    typeof desired === 'string' &&
    typeof observed === 'string' &&
    canonicalId(desired) === canonicalId(observed)
  );
}

/** A field of what is to be created, and where its value is taken from. */
interface CreatedField extends Pick<Field, 'path' | 'desired'> {
  readonly from?: string;
}

/** All that the creation makes: objects by their names, and variables without their values. */
export function createFields(spec: ContainerServiceSpec, inputs: ServiceInputs): CreatedField[] {
  const all = [
    ...immutableFields(inputs, undefined),
    ...patchFields(spec, undefined),
    createdResources(spec),
  ];
  const written = all.filter((field) => field.name !== 'geography' || spec.geography !== undefined);
  const names = inputs.environment.kind === 'given' ? Object.keys(inputs.environment.values.reveal()) : [];
  const origins = variableOrigins(spec);
  const variables = names.map((name) =>
    withOrigin({ path: `env.${name}`, desired: '(set)' }, origins.get(name)),
  );
  const registry = inputs.registry.kind === 'none' ? undefined : inputs.registry.name;
  return [
    ...written,
    sleepField(spec, undefined),
    { path: 'storage.volumeRef', desired: spec.storage?.volumeRef?.name },
    { path: 'templateRef', desired: spec.templateRef?.name },
    { path: 'imageRegistry', desired: registry },
    { path: 'desiredState', desired: spec.desiredState },
    ...variables,
  ];
}

/** Its template gives them, and is not there yet. */
function createdResources(spec: ContainerServiceSpec): CreatedField & Pick<Field, 'name'> {
  const field = resourcesField(spec, undefined);
  const { templateRef, resources } = spec;
  if (resources || !templateRef) return field;
  return withOrigin({ ...field, desired: defaultOfApi }, `ServiceTemplate ${templateRef.name}`);
}

/** The digests to record once the object is as desired. They distinguish later drift from a change of the spec. */
export function serviceDigests(inputs: ServiceInputs): Record<string, string> {
  const { object, owner } = inputs;
  const { spec } = object;
  const fields: Field[] = [
    ...immutableFields(inputs, undefined),
    ...patchFields(spec, undefined),
    resourcesField(spec, undefined),
    sleepField(spec, undefined),
    { name: 'desiredState', path: 'desiredState', desired: spec.desiredState, observed: undefined },
  ];
  // A volume that is not there yet is not "no volume".
  const known = fields.filter((field) => field.name !== 'volumeId' || field.desired !== undefined);
  const digests = fieldDigests(known, owner.digestKey);
  const all = { ...digests, ...appliedEnvironment(inputs) };
  // A field that was removed from the document, and is still there, stays recorded until somebody decides about it.
  const kept = inputs.observation.kind === 'present' ? removedOf(inputs, inputs.observation.value) : [];
  return Object.fromEntries(Object.entries(all).filter(([name]) => !kept.some(({ path }) => path === name)));
}

function appliedEnvironment({ environment, owner, record }: ServiceInputs): Record<string, string> {
  const { env } = record.applied;
  if (environment.kind === 'as-applied') return env === undefined ? {} : { env };
  if (environment.kind === 'problem') return {};
  return {
    env: environmentDigest(owner, environment.kind === 'given' ? environment.values : undefined),
  };
}

export function removedOf(inputs: ServiceInputs, service: wire.Service): Difference[] {
  const { spec } = inputs.object;
  return removedFields(inputs, service, [...patchFields(spec, service), sleepField(spec, service)]);
}

/** What an answer of the API shows of the fields that the spec gives, as digests. */
export function shownService(inputs: ServiceInputs, service: wire.Service): Record<string, string> {
  const { object, owner } = inputs;
  const { spec } = object;
  const fields: Field[] = [
    ...immutableFields(inputs, service),
    ...patchFields(spec, service),
    resourcesField(spec, service),
    sleepField(spec, service),
  ];
  return { ...shownDigests(fields, owner.digestKey), ...shownEnvironment(inputs, service) };
}
