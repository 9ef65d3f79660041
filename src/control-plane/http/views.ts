/**
 * Records as the API answers them (§2). Each record is serialised once: records are immutable, so the text is
 * kept as long as the record lives. list-view.ts makes lists of them.
 */
import type { ControlPlaneConfig, Prices } from '../domain/config.ts';
import type {
  AccountRecord,
  RegistryRecord,
  ServiceRecord,
  TemplateRecord,
  VolumeRecord,
} from '../store/records.ts';

const texts = new WeakMap<object, string>();

function once<Item extends object>(record: Item, view: (record: Item) => object): string {
  let text = texts.get(record);
  if (text === undefined) {
    text = JSON.stringify(view(record));
    texts.set(record, text);
  }
  return text;
}

export function serviceJson(service: ServiceRecord): string {
  return once(service, (record) => ({
    id: record.id,
    name: record.name,
    state: record.state,
    revision: record.revision,
    resources: record.resources,
    region: record.region,
    geography: record.geography,
    image: record.image,
    command: record.command,
    httpPort: record.httpPort,
    endpoint: record.endpoint,
    environmentNames: record.environmentNames,
    volumeId: record.volumeId,
    sleepAfterMinutes: record.sleepAfterMinutes,
    gpuModel: record.gpuModel,
    hourlyMicros: record.hourlyMicros,
    operation: record.operation?.kind ?? null,
    error: record.error,
    createdAt: record.createdAtMs,
  }));
}

export function volumeJson(volume: VolumeRecord): string {
  return once(volume, (record) => ({
    id: record.id,
    name: record.name,
    mode: record.mode,
    serviceId: record.serviceId,
    status: record.status,
    revision: record.revision,
    region: record.region,
    geography: record.geography,
    sizeGb: record.sizeGb,
    requestedSizeGb: record.requestedSizeGb,
    provisioned: record.provisioned,
    hourlyMicros: record.hourlyMicros,
    error: record.error,
    createdAt: record.createdAtMs,
  }));
}

export function templateJson(template: TemplateRecord): string {
  return once(template, templateView);
}

function templateView(record: TemplateRecord): object {
  const { accountId, createdAtMs, id, revision, ...fields } = record;
  return { id, revision, builtIn: accountId === '', ...fields, createdAt: createdAtMs };
}

/** Metadata only: there is no way from here to a username or a password. `linked` depends on other records. */
export function registryJson(registry: RegistryRecord, linked: readonly ServiceRecord[]): string {
  const { id, repository, revision, createdAtMs: createdAt, rotatedAtMs: rotatedAt } = registry;
  const links = linked.map((service) => {
    const { registryAccess } = service;
    const isCurrent = registryAccess?.registryId === id && registryAccess.revision === revision;
    return `${linkText(service)}"usesCurrentCredentials":${isCurrent}}`;
  });
  const [start, end] = [
    { id, repository, revision },
    { createdAt, rotatedAt },
  ].map((part) => JSON.stringify(part).slice(1, -1));
  return `{${start},"linkedServices":[${links.join(',')}],${end}}`;
}

const linkTexts = new WeakMap<ServiceRecord, string>();

/** What does not depend on the registry, with a comma at its end. */
function linkText(service: ServiceRecord): string {
  let text = linkTexts.get(service);
  if (text === undefined) {
    const { id, name, state } = service;
    text = `${JSON.stringify({ id, name, state }).slice(0, -1)},`;
    linkTexts.set(service, text);
  }
  return text;
}

export function identityJson(account: AccountRecord): string {
  const { id, name, email, emailVerified } = account;
  return JSON.stringify({ id, name, email, emailVerified });
}

/** The public catalog (§2 "Catalog object"). */
export function catalogJson(config: ControlPlaneConfig, templates: readonly TemplateRecord[]): string {
  return JSON.stringify({
    regions: config.regions.map((region) => ({
      name: region.name,
      description: region.description,
      geographies: region.geographies.map((geography) => geography.name),
      prices: region.prices && { ...region.prices, gpuHourMicros: highestGpuPrice(region.prices) },
    })),
    templates: templates.map(templateView),
    gpuCatalog: config.gpuCatalog,
    currency: 'USD',
    browserEnabled: config.browserEnabled,
    payment: { provider: 'none', status: 'disabled' },
  });
}

/** Whoever reckons with one price for all models is not surprised by a higher one. */
function highestGpuPrice({ gpuHourMicros, gpuModelHourMicros = {} }: Prices): number {
  return Math.max(gpuHourMicros, ...Object.values(gpuModelHourMicros));
}
