/** Documents as both places check them: a folder by zod, a cluster by the schema that is made of it. */
import { customResourceDefinition, type StructuralSchema } from '../../../src/crdgen/index.ts';
import { apiVersion, managedKinds, documents, type ManagedKind } from '../../../src/resources/index.ts';
import { CustomSchema } from '../../support/kubernetes/schema/custom-schema.ts';

export function openApiSchema(kind: ManagedKind): StructuralSchema {
  return customResourceDefinition(kind).spec.versions[0].schema.openAPIV3Schema;
}

const schemas = new Map(managedKinds.map((kind) => [kind, new CustomSchema(openApiSchema(kind))]));

type Fields = Readonly<Record<string, unknown>>;

/** What has to be there. */
export const leastSpecs: Readonly<Record<ManagedKind, Fields>> = {
  Account: { url: 'https://api.example.com' },
  ContainerService: { region: 'standard', image: 'ghcr.io/acme/web:1', resources: { cpu: 8, memoryGb: 32 } },
  ServiceFleet: {
    template: {
      spec: { region: 'standard', image: 'ghcr.io/acme/web:1', resources: { cpu: 8, memoryGb: 32 } },
    },
  },
  StorageVolume: { region: 'standard', sizeGb: 100 },
  ServiceTemplate: { image: 'ghcr.io/acme/web:1' },
  ImageRegistry: { repository: 'ghcr.io/acme/web', credentialsSecretRef: { name: 'ghcr' } },
  ProtectedTask: { serviceRef: { name: 'trainer' } },
  Budget: { namespace: true, limits: { hourlyMicros: 1 } },
  Notification: { sink: { slack: { urlFrom: { secretKeyRef: { name: 'on-call', key: 'url' } } } } },
};

/** A document with what has to be there, and more or other. Undefined takes a field out. */
export function documentOf(kind: ManagedKind, spec: Fields = {}, rest: Fields = {}): Fields {
  const written = { metadata: { name: 'web' }, spec: { ...leastSpecs[kind], ...spec }, ...rest };
  return { apiVersion, kind, ...(JSON.parse(JSON.stringify(written)) as Fields) };
}

export interface Verdict {
  /** Sentences, with the field in front; none: it is accepted. */
  readonly refusals: readonly string[];
  /** With defaults. */
  readonly spec: unknown;
}

export function folderVerdict(kind: ManagedKind, document: Fields): Verdict {
  const { error, data } = documents[kind].safeParse(document);
  const refusals = (error?.issues ?? []).map(({ path, message }) => `${path.join('.')}: ${message}`);
  return { refusals, spec: data?.spec };
}

/** As `kubectl apply` has it, for which an unknown field is an error. `old`: the object that it is to replace. */
export function clusterVerdict(kind: ManagedKind, document: Fields, old?: Fields): Verdict {
  const schema = schemas.get(kind) as CustomSchema;
  const { object, unknown } = schema.accept(document);
  const before = old && schema.accept(old).object;
  const refusals = [
    ...unknown.map((path) => `${path}: unknown field`),
    ...schema.errors(object, before).map(({ field, message }) => `${field}: ${message}`),
  ];
  return { refusals, spec: object['spec'] };
}

/** What the API server makes of a status, and why it would refuse it. */
export function keptStatus(
  kind: ManagedKind,
  status: object,
): { kept: unknown; refusals: readonly string[] } {
  const document = { ...documentOf(kind), status: JSON.parse(JSON.stringify(status)) as unknown };
  const schema = schemas.get(kind) as CustomSchema;
  const { object } = schema.accept(document);
  return { kept: object['status'], refusals: clusterVerdict(kind, document).refusals };
}
