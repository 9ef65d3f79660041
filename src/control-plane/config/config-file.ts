/**
 * The configuration file (`--config`): every part may be left out and then has its default, down to the single
 * price and duration. A part that is a list is given as a whole. examples/control-plane/config.yaml has all of
 * it with the defaults.
 */
import { z } from 'zod';
import type { ControlPlaneConfig } from '../domain/config.ts';
import { bounds, templateSpec } from '../domain/requests.ts';
import { templateFields } from '../domain/templates.ts';
import { clusterPlace, kubernetes } from './cluster-config.ts';
import { parseYamlFile, type Mistake } from './yaml-file.ts';

const longestDurationMs = 24 * 60 * 60 * 1000;
/** 100 USD per hour, so that everything that an account can have stays a safe integer. */
const highestPriceMicros = 100_000_000;

/** Names are parts of keys and of messages. */
const name = z
  .string()
  .regex(/^[\w.-]{1,64}$/, 'must be 1 to 64 letters, digits, dots, dashes and underscores');
const price = z.int().nonnegative().max(highestPriceMicros);
const durationMs = z.int().nonnegative().max(longestDurationMs);

const prices = z.strictObject({
  gpuHourMicros: price.default(900_000),
  cpuHourMicros: price.default(12_000),
  memoryGbHourMicros: price.default(1_500),
  storageGbHourMicros: price.default(140),
  gpuModelHourMicros: z.record(z.string(), price).optional(),
});

const geography = z.strictObject({
  name: name.refine((text) => text !== 'auto', '"auto" means any geography'),
  gpus: z.record(z.string(), z.int().nonnegative()).default({}),
  cpu: z.number().nonnegative().optional(),
  memoryGb: z.number().nonnegative().optional(),
  storageGb: z.int().nonnegative().optional(),
  cluster: clusterPlace.optional(),
});

const region = z.strictObject({
  name,
  description: z.string().max(4096).default(''),
  geographies: z.array(geography).min(1),
  // A made-up price would be charged.
  prices: prices.nullable().default(null),
  cluster: clusterPlace.optional(),
});

const gpuModel = z.strictObject({
  model: name,
  name: z.string().min(1).max(128),
  memoryGb: z.array(z.number().positive()).min(1),
  fullMemoryGb: z.number().positive(),
});

const largestResources = z.strictObject({
  gpuCount: z.int().nonnegative().max(1024).default(16),
  cpu: z.number().min(bounds.leastCpu).max(16_384).default(512),
  memoryGb: z.number().min(bounds.leastMemoryGb).max(65_536).default(4096),
});

const durations = z.strictObject({
  provisionMs: durationMs.default(8_000),
  stopMs: durationMs.default(3_000),
  removeMs: durationMs.default(3_000),
  volumeProvisionMs: durationMs.default(5_000),
  volumeExpandMs: durationMs.default(6_000),
  volumeDeleteMs: durationMs.default(4_000),
});

const builtInTemplate = templateSpec
  .extend({ id: z.guid().toLowerCase() })
  .transform(({ id, ...spec }) => ({ id, ...templateFields(spec) }));

/** Only signatures that a holder of the public key can't make: no `none`, no HMAC. */
const asymmetricAlgorithms = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');

const providerUrl = z
  .string()
  .max(2048)
  .refine(isProviderUrl, 'must be an https URL, or an http URL on localhost');

const identity = z.strictObject({
  issuer: providerUrl,
  audience: z.union([
    z.array(z.string().min(1)).min(1),
    z
      .string()
      .min(1)
      .transform((one) => [one]),
  ]),
  jwksUri: providerUrl.nullable().default(null),
  header: z
    .string()
    .regex(/^[\w-]{1,64}$/, 'must be the name of a header')
    .toLowerCase()
    .refine((header) => !isTaken(header), 'this header has another meaning')
    .default('authorization'),
  algorithms: z.array(z.enum(asymmetricAlgorithms)).min(1).default(asymmetricAlgorithms),
});

const destination = z.strictObject({
  to: z.union(
    [z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()],
    'must be an address, or a network as ADDRESS/LENGTH',
  ),
  port: z.int().min(1).max(65_535).optional(),
});

const bound = z.number().nonnegative().max(Number.MAX_SAFE_INTEGER).nullable().optional();

const containers = z.strictObject({
  capacity: z.strictObject({ cpu: bound, memoryGb: bound, storageGb: bound }).prefault({}),
  registries: z.array(z.string().min(1).max(255)).default([]),
  gpus: z
    .array(
      z.strictObject({ id: z.string().regex(/^[\w.:-]{1,64}$/, 'must be the id of a device'), model: name }),
    )
    .default([]),
  egress: z
    .strictObject({ allow: z.array(destination).default([]), deny: z.array(destination).default([]) })
    .prefault({}),
  kubernetes: kubernetes.prefault({}),
});

const gpus = { h100: 100_000, a100: 100_000, l4: 100_000 };

const count = z.int().nonnegative().max(Number.MAX_SAFE_INTEGER);
const amount = z.number().nonnegative().max(Number.MAX_SAFE_INTEGER);

const quotaFields = {
  services: count,
  gpus: count,
  cpu: amount,
  memoryGb: amount,
  storageGb: amount,
  storedBytes: count,
  keptAnswers: count,
  keptAnswerBytes: count,
};

/** In the accounts file: what is left out is as in the configuration. */
export const accountQuota = z.strictObject(quotaFields).partial();

const quota = z.strictObject({
  services: quotaFields.services.default(20_000),
  gpus: quotaFields.gpus.default(100_000),
  cpu: quotaFields.cpu.default(1_000_000),
  memoryGb: quotaFields.memoryGb.default(10_000_000),
  // What 50 volumes can have.
  storageGb: quotaFields.storageGb.default(204_800),
  storedBytes: quotaFields.storedBytes.default(16 * 1024 * 1024),
  keptAnswers: quotaFields.keptAnswers.default(200_000),
  keptAnswerBytes: quotaFields.keptAnswerBytes.default(32 * 1024 * 1024),
});

const configFile = z.strictObject({
  regions: z
    .array(region)
    .min(1)
    .prefault([
      {
        name: 'standard',
        description: 'Data-centre hosts',
        geographies: [
          { name: 'europe', gpus },
          { name: 'north-america', gpus },
        ],
        prices: {},
      },
      {
        name: 'economy',
        description: 'Shared hosts at a lower price',
        geographies: [
          { name: 'europe', gpus: { l4: 100_000 } },
          { name: 'asia', gpus: { l4: 100_000 } },
        ],
        prices: {
          gpuHourMicros: 400_000,
          cpuHourMicros: 6_000,
          memoryGbHourMicros: 800,
          storageGbHourMicros: 100,
        },
      },
    ]),
  gpuCatalog: z.array(gpuModel).default([
    { model: 'h100', name: 'NVIDIA H100', memoryGb: [10, 20, 40, 80], fullMemoryGb: 80 },
    { model: 'a100', name: 'NVIDIA A100', memoryGb: [10, 20, 40, 80], fullMemoryGb: 80 },
    { model: 'l4', name: 'NVIDIA L4', memoryGb: [24], fullMemoryGb: 24 },
  ]),
  largestResources: largestResources.prefault({}),
  durations: durations.prefault({}),
  templates: z.array(builtInTemplate).prefault([
    {
      id: '7d3f4c52-6a0e-4f0b-9d35-1f6a5b0c1a01',
      name: 'Web server',
      description: 'nginx on a small host, asleep when nobody uses it',
      image: 'docker.io/library/nginx:1.29',
      resources: { gpuCount: 0, cpu: 1, memoryGb: 2 },
      httpPort: 80,
      sleepAfterMinutes: 60,
    },
    {
      id: '7d3f4c52-6a0e-4f0b-9d35-1f6a5b0c1a02',
      name: 'GPU notebook',
      description: 'JupyterLab with PyTorch on one GPU',
      image: 'quay.io/jupyter/pytorch-notebook:cuda12-latest',
      command: ['start-notebook.py', '--ip=0.0.0.0'],
      resources: { gpuCount: 1, cpu: 8, memoryGb: 32 },
      httpPort: 8888,
      containerDiskGb: 40,
      workspaceGb: 50,
      sleepAfterMinutes: 30,
      requiredEnvironment: ['JUPYTER_TOKEN'],
    },
  ]),
  quota: quota.prefault({}),
  browserEnabled: z.boolean().default(false),
  metricsEnabled: z.boolean().default(true),
  containers: containers.prefault({}),
  identity: identity.nullable().default(null),
});

export const defaultConfig: ControlPlaneConfig = configFile.parse({});

/** Throws a `UserError` with file, line and path. */
export function parseConfig(text: string, file: string): ControlPlaneConfig {
  const remedy = 'see examples/control-plane/config.yaml, which has every field with its default';
  return parseYamlFile(text, file, { schema: configFile, mistakeIn, remedy });
}

function mistakeIn(config: ControlPlaneConfig): Mistake | undefined {
  const { regions, gpuCatalog, templates } = config;
  const models = new Set(gpuCatalog.map(({ model }) => model));
  return (
    repetitionIn(regions, 'name', ['regions']) ??
    repetitionIn(gpuCatalog, 'model', ['gpuCatalog']) ??
    repetitionIn(templates, 'id', ['templates']) ??
    firstOf(regions, (one, index) =>
      unknownModelIn(one.prices?.gpuModelHourMicros ?? {}, models, [
        'regions',
        index,
        'prices',
        'gpuModelHourMicros',
      ]),
    ) ??
    firstOf(regions, ({ geographies }, index) => {
      const path = ['regions', index, 'geographies'];
      return (
        repetitionIn(geographies, 'name', path) ??
        firstOf(geographies, (one, place) => unknownModelIn(one.gpus, models, [...path, place, 'gpus']))
      );
    }) ??
    repetitionIn(config.containers.gpus, 'id', ['containers', 'gpus']) ??
    firstOf(config.containers.gpus, (device, index) =>
      unknownModelIn({ [device.model]: 1 }, models, ['containers', 'gpus', index]),
    ) ??
    firstOf(gpuCatalog, (model, index) => sliceMistakeIn(model, ['gpuCatalog', index, 'memoryGb'])) ??
    firstOf(templates, (template, index) => templateMistakeIn(template, config, ['templates', index]))
  );
}

type Path = readonly PropertyKey[];

function firstOf<Item>(
  items: readonly Item[],
  mistake: (item: Item, index: number) => Mistake | undefined,
): Mistake | undefined {
  for (const [index, item] of items.entries()) {
    const found = mistake(item, index);
    if (found) return found;
  }
  return undefined;
}

function repetitionIn<Field extends string>(
  items: readonly Readonly<Record<Field, string>>[],
  field: Field,
  path: Path,
): Mistake | undefined {
  const seen = new Set<string>();
  return firstOf(items, (item, index) => {
    if (seen.has(item[field])) {
      return { path: [...path, index, field], message: `"${item[field]}" occurs twice` };
    }
    seen.add(item[field]);
    return undefined;
  });
}

function unknownModelIn(
  counts: Readonly<Record<string, number>>,
  models: ReadonlySet<string>,
  path: Path,
): Mistake | undefined {
  const unknown = Object.keys(counts).find((model) => !models.has(model));
  if (unknown === undefined) return undefined;
  const known = [...models].join(', ') || 'none';
  return { path: [...path, unknown], message: `gpuCatalog has no such model; it has ${known}` };
}

function sliceMistakeIn(model: ControlPlaneConfig['gpuCatalog'][number], path: Path): Mistake | undefined {
  const index = model.memoryGb.findIndex((slice) => slice > model.fullMemoryGb);
  if (index < 0) return undefined;
  return { path: [...path, index], message: `must be at most fullMemoryGb, ${model.fullMemoryGb}` };
}

function templateMistakeIn(
  { resources, requiredEnvironment }: ControlPlaneConfig['templates'][number],
  { largestResources: largest }: ControlPlaneConfig,
  path: Path,
): Mistake | undefined {
  if (new Set(requiredEnvironment).size < requiredEnvironment.length) {
    return { path: [...path, 'requiredEnvironment'], message: 'each name may occur once' };
  }
  if (!Number.isInteger(resources.gpuCount)) {
    return { path: [...path, 'resources', 'gpuCount'], message: 'must be a whole number' };
  }
  const field = (['gpuCount', 'cpu', 'memoryGb'] as const).find((one) => resources[one] > largest[one]);
  if (field === undefined) return undefined;
  const message = `must be at most that of largestResources, ${largest[field]}`;
  return { path: [...path, 'resources', field], message };
}

function isTaken(header: string): boolean {
  const taken = ['connection', 'content-length', 'content-type', 'cookie', 'expect', 'host'];
  return [...taken, 'idempotency-key', 'te', 'trailer', 'transfer-encoding', 'upgrade'].includes(header);
}

/** Where the keys of an identity provider may come from: what is fetched in the clear could be anybody's. */
export function isProviderUrl(text: string): boolean {
  const url = URL.parse(text);
  const isLocal = url !== null && ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && isLocal);
}
