/** What an account can have, for people. Texts of the provider are shown without what a terminal would obey. */
import { renderTable } from '../output/render.ts';
import { oneLine } from '../output/terminal-text.ts';
import type { Offer, OfferedGpu, OfferedRegion, OfferedTemplate } from './offer.ts';

export function offerText(offers: readonly Offer[]): string {
  return offers.map(textOf).join('\n\n');
}

function textOf(offer: Offer): string {
  const parts = [
    heading(offer),
    offer.regions.length > 0 && regionTable(offer.regions),
    offer.gpus && (offer.gpus.length > 0 ? gpuTable(offer.gpus, offer.regions) : 'No GPUs.'),
    offer.templates.length > 0 && templateTable(offer.templates),
    limitTable(offer),
    notes(offer),
  ];
  return parts.filter((part) => typeof part === 'string').join('\n\n');
}

function heading({ account, url, balanceMicros }: Offer): string {
  const balance = balanceMicros === null ? '' : `, ${usd(balanceMicros, 2)} USD`;
  return `Account ${account} at ${oneLine(url)}${balance}`;
}

function regionTable(regions: readonly OfferedRegion[]): string {
  const rows = regions.map(({ name, geographies, prices }) => [
    oneLine(name),
    geographies === null ? '-' : oneLine(geographies.join(', ')) || 'none',
    price(prices?.gpuHourMicros),
    price(prices?.cpuHourMicros),
    price(prices?.memoryGbHourMicros),
    price(prices?.storageGbHourMicros),
  ]);
  return renderTable(['REGION', 'GEOGRAPHIES', 'USD/H: GPU', 'CPU', 'GB MEMORY', 'GB STORAGE'], rows);
}

function gpuTable(gpus: readonly OfferedGpu[], regions: readonly OfferedRegion[]): string {
  const rows = gpus.map(({ model, name, memoryGb, fullMemoryGb }) => {
    const sizes = memoryGb.length > 0 ? memoryGb : fullMemoryGb === null ? [] : [fullMemoryGb];
    return [oneLine(model), oneLine(name ?? '-'), sizes.join(', ') || '-', gpuPrices(model, regions)];
  });
  return renderTable(['GPU', 'NAME', 'GB MEMORY', 'USD/H'], rows);
}

function gpuPrices(model: string, regions: readonly OfferedRegion[]): string {
  const priced = regions.flatMap(({ name, prices }) => {
    const micros = prices?.gpuModelHourMicros?.[model] ?? prices?.gpuHourMicros;
    return micros === undefined ? [] : [`${price(micros)} (${oneLine(name)})`];
  });
  return priced.join(', ') || '-';
}

function templateTable(templates: readonly OfferedTemplate[]): string {
  const rows = templates.map(({ name, builtIn, image, resources, httpPort, requiredEnvironment }) => [
    oneLine(name ?? '-'),
    builtIn ? 'built in' : 'own',
    oneLine(image ?? '-'),
    resources ? `${resources.gpuCount}, ${resources.cpu}, ${resources.memoryGb}` : '-',
    httpPort === null ? '-' : String(httpPort),
    oneLine(requiredEnvironment.join(', ')) || '-',
  ]);
  return renderTable(['TEMPLATE', 'FROM', 'IMAGE', 'GPU, CPU, GB', 'PORT', 'NEEDS'], rows);
}

function limitTable({ limits, ranges }: Offer): string {
  const { volumeSizeGb, sleepAfterMinutes } = ranges;
  return renderTable(
    ['LIMIT', 'USED', 'MOST'],
    [
      ...limits.map(({ resource, used, limit }) => [resource, String(used), String(limit)]),
      ['GB of a volume', '-', `${volumeSizeGb.min} to ${volumeSizeGb.max}`],
      ['minutes until sleep', '-', `${sleepAfterMinutes.min} to ${sleepAfterMinutes.max}`],
    ],
  );
}

function notes({ unreadable, regions }: Offer): string {
  const declared = regions.some(({ prices }) => prices?.basis === 'declared');
  const lines = [
    'A catalog shows what is offered, not what is free now.',
    ...(declared ? ['Some prices are those that the Account declares.'] : []),
    ...unreadable.map(({ what, reason }) => `not readable: ${what}: ${oneLine(reason)}`),
  ];
  return lines.join('\n');
}

/** At least two digits, and as many as it takes. */
function price(micros: number | undefined): string {
  return micros === undefined ? '-' : usd(micros, 6).replace(/(\.\d\d\d*?)0+$/, '$1');
}

function usd(micros: number, digits: number): string {
  return (micros / 1_000_000).toFixed(digits);
}
