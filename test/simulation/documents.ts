/** What users write: documents of all kinds, and changes of them, drawn from a seed. */
import {
  annotations,
  apiVersion,
  beaconPrefix,
  parseObjectKey,
  type ObjectKey,
} from '../../src/resources/index.ts';
import type { SeededRandom } from '../support/seeded-random.ts';
import type { Json } from './watch.ts';

/** In every value that is secret; nothing that is told or kept may hold it. */
export const canary = 'canary-7f3e';
/** Of a Secret. */
const passwordOf = (secret: string) => `${canary}-${secret}`;

const userKinds = [
  'ContainerService',
  'StorageVolume',
  'ServiceTemplate',
  'ImageRegistry',
  'ProtectedTask',
  'ServiceFleet',
] as const;
/** The kinds that the simulation plays, but for Accounts. */
export type UserKind = (typeof userKinds)[number];

export function userKindOf(key: ObjectKey): UserKind | undefined {
  const { kind } = parseObjectKey(key);
  return userKinds.find((each) => each === kind);
}

export interface Document {
  readonly kind: UserKind;
  readonly name: string;
  readonly annotations: Record<string, string>;
  readonly labels?: Record<string, string>;
  readonly spec: Json;
}

/** Fleets are in fleets.ts. */
type PlainKind = Exclude<UserKind, 'ServiceFleet'>;

export const images = ['ghcr.io/acme/app:1', 'ghcr.io/acme/app:2', 'ghcr.io/acme/app:3'];
export const sizes = [
  { cpu: 1, memoryGb: 1 },
  { cpu: 2, memoryGb: 4 },
  { gpuCount: 1, cpu: 4, memoryGb: 16 },
];

export function newDocument(
  kind: PlainKind,
  name: string,
  random: SeededRandom,
  freeVolumes: readonly string[],
): Document {
  switch (kind) {
    case 'ContainerService':
      return newService(name, random, freeVolumes);
    case 'StorageVolume': {
      const deletionPolicy = random.chance(0.8) ? 'Delete' : 'Retain';
      const expansion = random.pick(['Never', 'PauseService']);
      return {
        kind,
        name,
        annotations: {},
        spec: { region: 'standard', sizeGb: 10, deletionPolicy, expansion },
      };
    }
    case 'ServiceTemplate':
      return {
        kind,
        name,
        annotations: {},
        spec: { image: random.pick(images), resources: random.pick(sizes) },
      };
    case 'ImageRegistry': {
      const credentialsSecretRef = { name: random.pick(['robot-1', 'robot-2']) };
      return {
        kind,
        name,
        annotations: {},
        spec: { repository: `ghcr.io/secret/${name}`, credentialsSecretRef },
      };
    }
    case 'ProtectedTask':
      return { kind, name, annotations: {}, spec: { serviceRef: { name: name.split('.')[0] } } };
  }
}

function newService(name: string, random: SeededRandom, volumes: readonly string[]): Document {
  const spec: Json = {
    region: 'standard',
    image: random.pick(images),
    resources: random.pick(sizes),
    httpPort: 8080,
  };
  if (random.chance(0.7)) spec.env = environment(random);
  if (random.chance(0.2)) spec.desiredState = 'Stopped';
  if (random.chance(0.2)) spec.replacement = 'Recreate';
  if (random.chance(0.2)) spec.disruption = 'Always';
  const volume = random.chance(0.3) && volumes.length > 0 ? random.pick(volumes) : undefined;
  if (volume !== undefined) spec.storage = { volumeRef: { name: volume } };
  else if (random.chance(0.2)) spec.storage = { volumeGb: 10 };
  // One that stays keeps what is attached to it.
  if (spec.storage === undefined && random.chance(0.1)) spec.deletionPolicy = 'Retain';
  // Whoever declares it is ready to lose what the service keeps for itself.
  return { kind: 'ContainerService', name, annotations: { [annotations.confirmDataLoss]: name }, spec };
}

export function environment(random: SeededRandom): object[] {
  const plain = { name: 'MODE', value: `${canary}-${random.between(1, 3)}` };
  return random.chance(0.5)
    ? [plain]
    : [plain, { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'robot-1', key: 'password' } } }];
}

/** What a service is to have, with the values of Secrets; undefined: whatever it has. */
export function environmentOf({ env }: Json): Record<string, string> | undefined {
  return env
    ? Object.fromEntries(
        env.map(({ name, value, valueFrom }: Json) => [
          name,
          value ?? passwordOf(valueFrom.secretKeyRef.name),
        ]),
      )
    : undefined;
}

/** As it was given, but for the mark of ours. */
export function withoutBeacon(given: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(given).filter(([name]) => !name.startsWith(beaconPrefix)));
}

const serviceEdits: readonly ((spec: Json, random: SeededRandom) => void)[] = [
  (spec, random) => (spec.image = random.pick(images)),
  (spec, random) => (spec.env = environment(random)),
  (spec, random) => (spec.resources = random.pick(sizes)),
  (spec) => (spec.desiredState = spec.desiredState === 'Stopped' ? 'Running' : 'Stopped'),
  (spec, random) => (spec.sleepAfterMinutes = random.pick([0, 60, 1440])),
  (spec, random) => (spec.restartToken = String(random.between(1, 9))),
  (spec, random) => (spec.httpPort = random.pick([80, 8080])),
  (spec, random) => (spec.command = ['run', String(random.between(1, 3))]),
];

export function edited(
  document: Document,
  random: SeededRandom,
  editFleet: (spec: Json, random: SeededRandom) => void,
): Document {
  const spec: Json = structuredClone(document.spec);
  switch (document.kind) {
    case 'ContainerService':
      random.pick(serviceEdits)(spec, random);
      break;
    case 'StorageVolume':
      if (random.chance(0.7)) spec.sizeGb += 5;
      else spec.volumeName = `${document.name}-${random.between(1, 3)}`;
      break;
    case 'ServiceTemplate':
      spec.image = random.pick(images);
      break;
    case 'ImageRegistry':
      spec.credentialsSecretRef = { name: random.pick(['robot-1', 'robot-2']) };
      break;
    case 'ProtectedTask':
      spec.released = true;
      break;
    case 'ServiceFleet':
      editFleet(spec, random);
  }
  return { ...document, spec };
}

export function manifestOf({ kind, name, annotations: given, labels, spec }: Document): object {
  return { apiVersion, kind, metadata: { name, annotations: given, ...(labels ? { labels } : {}) }, spec };
}

export const secrets = ['robot-1', 'robot-2'].map((name) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name },
  stringData: { username: 'robot', password: passwordOf(name) },
}));
