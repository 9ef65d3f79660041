/**
 * What an account can have: the public catalog (§2 "Catalog object"), the account's own templates, and the limits of §8. The contract shows
 * few of the fields. So each part is read by itself, and one that can't be read is missing, with the reason.
 */
import { describeOutcome, type Outcome, type wire } from '../../api/index.ts';
import { limits } from '../../api/wire.ts';
import { isBuiltIn } from '../../engine/index.ts';
import { catalogPrices, quotas, type Quota, type UnitPrices } from '../../engine/plan/index.ts';
import type { AccountConnection } from '../account/connection.ts';

export interface Offer {
  /** `namespace/name`. */
  readonly account: string;
  readonly url: string;
  readonly currency: string | null;
  readonly balanceMicros: number | null;
  readonly regions: readonly OfferedRegion[];
  /** Null: not shown, which is not the same as none. */
  readonly gpus: readonly OfferedGpu[] | null;
  readonly templates: readonly OfferedTemplate[];
  readonly limits: readonly Quota[];
  readonly ranges: Pick<typeof limits, 'volumeSizeGb' | 'sleepAfterMinutes'>;
  readonly browserSessions: boolean | null;
  readonly payment: string | null;
  readonly unreadable: readonly Unreadable[];
}

export interface OfferedRegion {
  readonly name: string;
  readonly description: string | null;
  readonly geographies: readonly string[] | null;
  /** Per hour, in micro-USD; from the catalog, else from `prices` of the Account. */
  readonly prices: OfferedPrices | null;
}

export interface OfferedPrices extends UnitPrices {
  readonly basis: 'catalog' | 'declared';
  /** Of models that cost something else. */
  readonly gpuModelHourMicros?: Readonly<Record<string, number>>;
}

export interface OfferedGpu {
  readonly model: string;
  readonly name: string | null;
  readonly memoryGb: readonly number[];
  readonly fullMemoryGb: number | null;
}

export interface OfferedTemplate {
  readonly id: string | null;
  readonly name: string | null;
  readonly builtIn: boolean;
  readonly description: string | null;
  readonly image: string | null;
  readonly resources: Resources | null;
  readonly httpPort: number | null;
  readonly requiredEnvironment: readonly string[];
}

export interface Resources {
  readonly gpuCount: number;
  readonly cpu: number;
  readonly memoryGb: number;
}

interface Unreadable {
  readonly what: string;
  readonly reason: string;
}

/** Never throws: what fails is in `unreadable`. */
export async function readOffer({ api, key, spec }: AccountConnection, stopped: AbortSignal): Promise<Offer> {
  const unreadable: Unreadable[] = [];
  const take = <Value>(what: string, outcome: Outcome<Value>): Value | undefined => {
    if (outcome.kind === 'applied') return outcome.value;
    unreadable.push({ what, reason: describeOutcome(outcome) });
    return undefined;
  };
  const [catalogRead, accountRead, templatesRead, registriesRead] = await Promise.all([
    api.catalog(stopped),
    api.account(stopped),
    api.templates(stopped),
    api.registries(stopped),
  ]);
  const catalog = take('catalog', catalogRead);
  const account = take('account', accountRead);
  const templates = take('templates', templatesRead)?.items;
  const registries = take('registries', registriesRead)?.items;
  if (catalog && !catalog.gpuCatalog) unreadable.push({ what: 'GPUs', reason: notShown });
  if (account && account.balanceMicros === undefined) unreadable.push({ what: 'balance', reason: notShown });
  return {
    account: key,
    url: spec.url,
    currency: catalog?.currency ?? null,
    balanceMicros: account?.balanceMicros ?? null,
    regions: regionsOf(catalog, spec.prices ?? []),
    gpus: catalog?.gpuCatalog?.flatMap((gpu) => gpuOf(gpu) ?? []) ?? null,
    templates: templatesOf(catalog, templates),
    limits: account
      ? quotas({
          volumes: account.volumes.length,
          templates: templates?.filter((template) => !isBuiltIn(template, catalog)).length,
          registries: registries?.length,
        })
      : [],
    ranges: { volumeSizeGb: limits.volumeSizeGb, sleepAfterMinutes: limits.sleepAfterMinutes },
    browserSessions: catalog?.browserEnabled ?? null,
    payment: catalog?.payment.status ?? null,
    unreadable,
  };
}

const notShown = 'the API shows it in no form that can be read';

type Fields = Readonly<Record<string, unknown>>;
type Declared = NonNullable<AccountConnection['spec']['prices']>;

function regionsOf(catalog: wire.Catalog | undefined, declared: Declared): OfferedRegion[] {
  const shown = catalogPrices(catalog?.regions ?? []);
  return (catalog?.regions ?? []).flatMap((region) => {
    const { geographies } = region;
    const name = regionName(region);
    if (name === undefined) return [];
    const ofCatalog = shown.get(name);
    return {
      name,
      description: text(region['description']) ?? null,
      geographies: geographies?.flatMap((group) => nameOf(group) ?? []) ?? null,
      prices: ofCatalog ? { basis: 'catalog', ...unitsOf(ofCatalog) } : declaredFor(name, declared),
    };
  });
}

/** The contract shows no field of a region (§2 "Gaps"). A tier has its name somewhere. */
function regionName(region: Fields): string | undefined {
  const { name, tier, region: called, id } = region;
  return [name, tier, called, id, ...Object.values(region)].map(text).find((found) => found !== undefined);
}

function declaredFor(region: string, declared: Declared): OfferedPrices | null {
  const found = declared.find(
    (entry) => entry.region === region && entry.geography === undefined && !entry.resources,
  );
  return found ? { basis: 'declared', ...unitsOf(found) } : null;
}

const units = ['gpuHourMicros', 'cpuHourMicros', 'memoryGbHourMicros', 'storageGbHourMicros'] as const;

function unitsOf(prices: UnitPrices): UnitPrices & Pick<OfferedPrices, 'gpuModelHourMicros'> {
  const { gpuModelHourMicros: models } = prices as OfferedPrices;
  const known = units.flatMap((unit) => (prices[unit] === undefined ? [] : [[unit, prices[unit]]]));
  return { ...Object.fromEntries(known), ...(models && { gpuModelHourMicros: models }) };
}

function gpuOf(value: unknown): OfferedGpu | undefined {
  const { model, name, memoryGb, fullMemoryGb } = fieldsOf(value);
  const called = text(model) ?? text(value);
  if (called === undefined) return undefined;
  return {
    model: called,
    name: text(name) ?? null,
    memoryGb: Array.isArray(memoryGb) ? memoryGb.filter((size) => typeof size === 'number') : [],
    fullMemoryGb: number(fullMemoryGb) ?? null,
  };
}

/** Providers may show those of the catalog in the list of the account, too. */
function templatesOf(
  catalog: wire.Catalog | undefined,
  listed: readonly wire.Template[] = [],
): OfferedTemplate[] {
  const ofList = listed.map((template) => templateOf(template, isBuiltIn(template, catalog)));
  const ids = new Set(ofList.map(({ id }) => id));
  const ofCatalog = (catalog?.templates ?? []).map((template) => templateOf(template, true));
  return [...ofCatalog.filter(({ id }) => id === null || !ids.has(id)), ...ofList];
}

function templateOf(template: object, builtIn: boolean): OfferedTemplate {
  const fields = fieldsOf(template);
  const required = fields['requiredEnvironment'];
  return {
    id: text(fields['id']) ?? null,
    name: text(fields['name']) ?? null,
    builtIn,
    description: text(fields['description']) ?? null,
    image: text(fields['image']) ?? null,
    resources: resourcesOf(fields['resources']),
    httpPort: number(fields['httpPort']) ?? null,
    requiredEnvironment: Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [],
  };
}

function resourcesOf(value: unknown): Resources | null {
  const { gpuCount = 0, cpu, memoryGb } = fieldsOf(value);
  if (typeof gpuCount !== 'number' || typeof cpu !== 'number' || typeof memoryGb !== 'number') return null;
  return { gpuCount, cpu, memoryGb };
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

function nameOf(value: unknown): string | undefined {
  const { name, id } = fieldsOf(value);
  return text(value) ?? text(name) ?? text(id);
}
