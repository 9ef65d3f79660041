/** Values of a service: numbers, defaults, normal forms, and what is shown beside them (§2). */
import type { Dialect, Form } from '../dialect.ts';
import type { Json } from '../provider/conduct.ts';
import { field, renamed, without } from './service-fields.ts';

const service = (form: Form): Pick<Dialect, 'forms'> => ({ forms: { service: form } });

const numbers: readonly Dialect[] = [
  {
    name: 'resources-texts',
    silence: 'service resources',
    plays: '`{gpuCount, cpu, memoryGb}` as texts',
    ...service(
      field('resources', (resources) =>
        Object.fromEntries(Object.entries(resources).map(([key, value]) => [key, String(value)])),
      ),
    ),
  },
  {
    name: 'resources-more',
    silence: 'service resources',
    plays: 'with more fields: `gpuModel`, `diskGb`',
    ...service(field('resources', (resources) => ({ ...resources, gpuModel: null, diskGb: 20 }))),
  },
  {
    name: 'resources-hidden',
    silence: 'service resources',
    plays: 'null until the service runs',
    ...service((record) => (record.state === 'running' ? record : { ...record, resources: null })),
  },
  {
    name: 'port-text',
    silence: 'fields of a service that are not named',
    plays: '`httpPort` as a text',
    ...service(field('httpPort', String)),
  },
  {
    name: 'port-default',
    silence: 'defaults of optional fields',
    plays: '`httpPort: 8080` for a service that was given none',
    ...service((record) => ({ ...record, httpPort: record.httpPort ?? 8080 })),
  },
  {
    name: 'price-fraction',
    silence: 'prices',
    plays: '`hourlyMicros` with a fraction',
    forms: {
      service: field('hourlyMicros', (micros) => micros + 0.25),
      volume: field('hourlyMicros', (micros) => micros + 0.5),
    },
  },
  {
    name: 'price-text',
    silence: 'prices',
    plays: '`hourlyMicros` as a text',
    forms: { service: field('hourlyMicros', String), volume: field('hourlyMicros', String) },
  },
  {
    name: 'price-object',
    silence: 'prices',
    plays: '`hourlyMicros` as `{compute, storage}`',
    ...service(field('hourlyMicros', (compute) => ({ compute, storage: 0 }))),
  },
  {
    name: 'price-hidden',
    silence: 'prices',
    plays: 'no `hourlyMicros`',
    forms: { service: without('hourlyMicros'), volume: without('hourlyMicros') },
  },
  {
    name: 'revision-jumps',
    silence: 'what advances a revision',
    plays: 'each change adds 1,000, the first is near 2^52',
    conduct: { revisionStep: 1000, firstRevision: 4_503_599_627_370_000 },
  },
  {
    name: 'revision-with-steps',
    silence: 'what advances a revision',
    plays: 'every step of the lifecycle advances it, too',
    conduct: { stepsAdvanceRevision: true },
  },
  {
    name: 'revision-text',
    silence: 'types that the contract states, broken',
    plays: '`revision` as a text (§2: an integer)',
    forms: {
      service: field('revision', String),
      volume: field('revision', String),
      template: field('revision', String),
      registry: field('revision', String),
    },
  },
];

const forms: readonly Dialect[] = [
  {
    name: 'image-full-form',
    silence: 'form of an image',
    plays: 'the full reference: `acme/web:1` shows as `docker.io/acme/web:1`',
    ...service(field('image', fullForm)),
  },
  {
    name: 'image-digest',
    silence: 'form of an image',
    plays: 'with the digest that the tag stands for behind it',
    ...service(field('image', (image) => `${image}@sha256:${'4'.repeat(64)}`)),
  },
  {
    name: 'image-stored-in-full',
    silence: 'form of an image',
    plays: 'stored and shown in its full form',
    conduct: { storesImage: fullForm },
  },
  {
    name: 'image-object',
    silence: 'form of an image',
    plays: '`{reference}` for one service of the fleet',
    held: { 'ContainerService/worker': 'AnswerUnreadable' },
    stays: ['service worker'],
    notSimulated: 'what decides and can not be read holds the object',
    ...service((record) =>
      record.name === 'worker' ? { ...record, image: { reference: record.image } } : record,
    ),
  },
  {
    name: 'image-hidden',
    hides: true,
    silence: 'fields of a service that are not named',
    plays: 'no `image`',
    ...service(without('image')),
  },
  {
    name: 'only-known-fields',
    hides: true,
    hidesErrors: true,
    silence: 'fields of a service that are not named',
    plays: 'nothing but the id and the fields that §2 names',
    ...service(({ id, state, revision, resources, geography, endpoint, environmentNames }) => ({
      id,
      state,
      revision,
      resources,
      geography,
      endpoint,
      environmentNames,
    })),
  },
  {
    name: 'volume-of-service-object',
    silence: 'fields of a service that are not named',
    plays: '`volume: {id, sizeGb}` in place of `volumeId`',
    ...service(({ volumeId, ...record }) => ({
      ...record,
      volume: volumeId === null ? null : { id: volumeId },
    })),
  },
  {
    name: 'volume-of-service-hidden',
    silence: 'fields of a service that are not named',
    plays: 'no `volumeId`: only the volume shows who uses it',
    ...service(without('volumeId')),
  },
  {
    name: 'volume-of-service-null',
    silence: 'fields of a service that are not named',
    plays: '`volumeId: null` of each service: only the volume shows who uses it',
    ...service((record) => ({ ...record, volumeId: null })),
  },
  {
    name: 'sleep-zero',
    silence: 'sleep policy',
    plays: '`sleepAfterMinutes: 0` for "never"',
    ...service((record) => ({ ...record, sleepAfterMinutes: record.sleepAfterMinutes ?? 0 })),
  },
  {
    name: 'sleep-text',
    silence: 'sleep policy',
    plays: '`sleepAfterMinutes` as a text',
    ...service(field('sleepAfterMinutes', String)),
  },
  {
    name: 'sleep-object',
    hides: true,
    silence: 'sleep policy',
    plays: '`sleep: {afterMinutes, enabled}`',
    ...service(({ sleepAfterMinutes, ...record }) => ({
      ...record,
      sleep: { enabled: sleepAfterMinutes !== null, afterMinutes: sleepAfterMinutes },
    })),
  },
  {
    name: 'sleep-hidden',
    hides: true,
    silence: 'sleep policy',
    plays: 'not shown',
    ...service(without('sleepAfterMinutes')),
  },
  {
    name: 'names-upper-case',
    silence: 'form of a name',
    plays: 'names in upper case',
    ...service(field('name', (name) => name.toUpperCase())),
  },
  {
    name: 'names-suffixed',
    silence: 'form of a name',
    plays: 'names of services with a suffix of its own',
    ...service(field('name', (name) => `${name}-x7f2`)),
  },
  {
    name: 'nulls-left-out',
    silence: 'null and absent',
    plays: 'no field is null: what is not there is left out',
    forms: { service: compact, volume: compact, template: compact, registry: compact },
  },
  {
    name: 'nulls-for-all',
    silence: 'null and absent',
    plays: 'empty lists and texts are null',
    forms: { service: emptyAsNull, volume: emptyAsNull, template: emptyAsNull, registry: emptyAsNull },
  },
  {
    name: 'more-fields',
    silence: 'extra fields',
    plays: 'fields that nobody knows, deep and large',
    forms: {
      service: (record) => ({ ...record, ...unknownFields }),
      volume: (record) => ({ ...record, ...unknownFields }),
      template: (record) => ({ ...record, ...unknownFields }),
      registry: (record) => ({ ...record, ...unknownFields }),
      account: (record) => ({ ...record, ...unknownFields, nextCursor: null, total: record.services.length }),
      identity: (record) => ({ ...record, ...unknownFields }),
      catalog: (record) => ({ ...record, ...unknownFields }),
    },
  },
  {
    name: 'times-iso',
    silence: 'times',
    plays: '`createdAt` as an ISO text',
    forms: {
      service: field('createdAt', iso),
      volume: field('createdAt', iso),
      template: field('createdAt', iso),
      registry: field('createdAt', iso),
      ledgerEntry: field('createdAt', iso),
    },
  },
  {
    name: 'snake-case',
    hides: true,
    silence: 'fields of a service that are not named',
    plays: 'what §2 does not name in snake case: `http_port`, `volume_id`, `hourly_micros`',
    ...service((record) =>
      ['httpPort', 'volumeId', 'hourlyMicros', 'sleepAfterMinutes', 'createdAt'].reduce(
        (shown, name) =>
          renamed(
            name,
            name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
          )(shown, 'read'),
        record,
      ),
    ),
  },
  {
    name: 'adds-variables-later',
    silence: 'names of environment variables',
    plays: 'begins to add `PORT` and `HOSTNAME` to everything when the fleet has been there for a while',
    conduct: { adds: { names: ['PORT', 'HOSTNAME'], fromMs: 60_000 } },
  },
  {
    name: 'adds-variables',
    silence: 'names of environment variables',
    plays: 'adds `PORT` and `HOSTNAME` to every environment from the start',
    conduct: { adds: { names: ['PORT', 'HOSTNAME'], fromMs: 0 } },
  },
];

const unknownFields = {
  metadata: { labels: { team: 'a' }, annotations: [{ deep: [[[{ deeper: 1e300 }]]] }] },
  links: { self: 'https://provider.example/x' },
  flags: [true, null, 0.1, 'ünïcode \u0000'],
};

function fullForm(image: string): string {
  const [first = '', ...rest] = image.split('/');
  if (/[.:]/.test(first) && rest.length > 0) return image;
  return rest.length === 0 ? `docker.io/library/${image}` : `docker.io/${image}`;
}

function compact(record: Json): Json {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null));
}

function emptyAsNull(record: Json): Json {
  const isEmpty = (value: unknown) => value === '' || (Array.isArray(value) && value.length === 0);
  return Object.fromEntries(
    Object.entries(record).map(([key, value]) => [key, isEmpty(value) ? null : value]),
  );
}

export function iso(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

export const serviceValues: readonly Dialect[] = [...numbers, ...forms];
