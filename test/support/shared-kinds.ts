/**
 * Builders for templates and registries, as those in plan.ts. Unless told otherwise, the thing exists, is ours, and is as its
 * spec says.
 */
import { aRecord, noGates, now, owner, serviceId } from './plan.ts';
import { wire } from '../../src/api/index.ts';
import { Sensitive } from '../../src/base/index.ts';
import {
  type Gates,
  type Observation,
  type Plan,
  derivedUid,
  templateMark,
} from '../../src/engine/plan/index.ts';
import { planRegistry, registryDigests } from '../../src/kinds/image-registry/plan.ts';
import { planTemplate, templateDigests } from '../../src/kinds/service-template/plan.ts';
import type { LinkedService, RegistryInputs } from '../../src/kinds/image-registry/inputs.ts';
import type { TemplateInputs } from '../../src/kinds/service-template/inputs.ts';
import {
  apiVersion,
  documents,
  objectKey,
  type ImageRegistrySpec,
  type ServiceTemplateSpec,
} from '../../src/resources/index.ts';
import type { ObjectRecord } from '../../src/state/index.ts';

export const templateKey = objectKey('ServiceTemplate', 'default', 'pytorch');
export const registryKey = objectKey('ImageRegistry', 'default', 'ghcr');
export const templateUid = derivedUid('lab', templateKey);
export const templateId = '33333333-3333-4333-8333-333333333333';
export const registryId = '44444444-4444-4444-8444-444444444444';
export const mark = templateMark(owner, templateUid);

const gone = { kind: 'absent', confirmed: true } as const;

function observationOf<Value>(value: Value | 'gone' | 'new'): Observation<Value> {
  return value === 'gone' || value === 'new' ? gone : { kind: 'present', value };
}

// ---- templates ---------------------------------------------------------------------------------------

export function aTemplateSpec(more: Readonly<Record<string, unknown>> = {}): ServiceTemplateSpec {
  const spec = { image: 'ghcr.io/acme/pytorch:2', ...more };
  const metadata = { name: 'pytorch' };
  return documents.ServiceTemplate.parse({ apiVersion, kind: 'ServiceTemplate', metadata, spec }).spec;
}

/** With the defaults that the API fills in. */
export function aTemplate(more: Readonly<Record<string, unknown>> = {}): wire.Template {
  return wire.template.parse({
    id: templateId,
    revision: 4,
    builtIn: false,
    name: 'pytorch',
    description: mark,
    image: 'ghcr.io/acme/pytorch:2',
    command: null,
    resources: { gpuCount: 0, cpu: 1, memoryGb: 2 },
    httpPort: null,
    containerDiskGb: 10,
    workspaceGb: null,
    sleepAfterMinutes: null,
    requiredEnvironment: [],
    createdAt: 1,
    ...more,
  });
}

export interface TemplateWorld {
  readonly spec?: ServiceTemplateSpec;
  readonly before?: ServiceTemplateSpec | 'nothing';
  readonly template?: wire.Template | 'gone' | 'new';
  readonly observation?: Observation<wire.Template>;
  readonly record?: Partial<ObjectRecord>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly deleting?: boolean;
  readonly templatesInAccount?: number;
  readonly gates?: Partial<Gates>;
}

export function templateInputs(world: TemplateWorld = {}): TemplateInputs {
  const { spec = aTemplateSpec(), template = aTemplate(), before = spec } = world;
  const inputs = (of: ServiceTemplateSpec): TemplateInputs => ({
    object: {
      name: 'pytorch',
      annotations: world.annotations ?? {},
      spec: of,
      deleting: world.deleting ?? false,
    },
    record: aRecord(templateKey, { externalId: template === 'new' ? undefined : templateId }),
    owner,
    observation: world.observation ?? observationOf(template),
    templatesInAccount: world.templatesInAccount ?? 1,
    gates: { ...noGates, ...world.gates },
    driftBrake: () => undefined,
  });
  const applied = before === 'nothing' || template === 'new' ? {} : templateDigests(inputs(before));
  const current = inputs(spec);
  return { ...current, record: { ...current.record, applied, ...world.record } };
}

export const templatePlan = (world?: TemplateWorld): Plan => planTemplate(templateInputs(world));

// ---- registries --------------------------------------------------------------------------------------

export function aRegistrySpec(more: Readonly<Record<string, unknown>> = {}): ImageRegistrySpec {
  const spec = { repository: 'ghcr.io/acme/trainer', credentialsSecretRef: { name: 'ghcr' }, ...more };
  const metadata = { name: 'ghcr' };
  return documents.ImageRegistry.parse({ apiVersion, kind: 'ImageRegistry', metadata, spec }).spec;
}

export function aRegistry(more: Readonly<Record<string, unknown>> = {}): wire.Registry {
  return wire.registry.parse({
    id: registryId,
    repository: 'ghcr.io/acme/trainer',
    revision: 4,
    linkedServices: [],
    createdAt: 1,
    rotatedAt: null,
    ...more,
  });
}

export function credentials(password: string, username = 'acme-bot'): RegistryInputs['credentials'] {
  return { kind: 'given', values: new Sensitive({ username, password }) };
}

export function aLink(state: string | undefined, more: Partial<LinkedService> = {}): LinkedService {
  return { id: serviceId, name: 'trainer', state, credentials: 'Current', ...more };
}

export interface RegistryWorld {
  readonly spec?: ImageRegistrySpec;
  readonly registry?: wire.Registry | 'gone' | 'new';
  readonly observation?: Observation<wire.Registry>;
  readonly credentials?: RegistryInputs['credentials'];
  /** Those last applied; the present ones unless given. */
  readonly before?: RegistryInputs['credentials'];
  readonly record?: Partial<ObjectRecord>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly deleting?: boolean;
  readonly linked?: readonly LinkedService[];
  readonly registriesInAccount?: number;
  readonly gates?: Partial<Gates>;
  readonly nowMs?: number;
}

export function registryInputs(world: RegistryWorld = {}): RegistryInputs {
  const { spec = aRegistrySpec(), registry = aRegistry(), credentials: given = credentials('one') } = world;
  const inputs = (of: RegistryInputs['credentials']): RegistryInputs => ({
    object: {
      name: 'ghcr',
      annotations: world.annotations ?? {},
      spec,
      deleting: world.deleting ?? false,
    },
    record: aRecord(registryKey, { externalId: registry === 'new' ? undefined : registryId }),
    owner,
    observation: world.observation ?? observationOf(registry),
    credentials: of,
    linked: world.linked ?? [],
    registriesInAccount: world.registriesInAccount ?? 1,
    gates: { ...noGates, ...world.gates },
    driftBrake: () => undefined,
    nowMs: world.nowMs ?? now,
  });
  const applied = registry === 'new' ? {} : registryDigests(inputs(world.before ?? given));
  const current = inputs(given);
  return { ...current, record: { ...current.record, applied, ...world.record } };
}

export const registryPlan = (world?: RegistryWorld): Plan => planRegistry(registryInputs(world));
