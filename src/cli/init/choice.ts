/** What the first service of a folder is, by what the account can have. Pure. */
import type { Offer, OfferedRegion, OfferedTemplate, Resources } from '../offer/offer.ts';

export interface FirstService {
  readonly region: string;
  readonly image: string;
  readonly httpPort: number | undefined;
  readonly resources: Resources;
  /** Undefined: the catalog shows no prices. */
  readonly hourlyMicros: number | undefined;
}

export interface Wishes {
  readonly image?: string;
  readonly port?: number;
  /** Containers on this machine: a small share of it is enough. */
  readonly isLocal: boolean;
}

/** Small, public, and a web server that answers at once. */
const usualImage = { image: 'docker.io/library/nginx:1.29-alpine', httpPort: 80 } as const;
const smallLocal: Resources = { gpuCount: 0, cpu: 0.5, memoryGb: 0.5 };
/** Providers don't show their ranges (§8 "Gaps"). These are the sizes that templates have. */
const usualResources: Resources = { gpuCount: 0, cpu: 1, memoryGb: 2 };

/** Undefined: the catalog has no region. */
export function firstService(offer: Offer, { image, port, isLocal }: Wishes): FirstService | undefined {
  const template = isLocal ? undefined : webTemplate(offer.templates);
  const resources = isLocal ? smallLocal : (template?.resources ?? usualResources);
  const priced = offer.regions.map((region) => ({ region, hourlyMicros: hourlyOf(region, resources) }));
  // The first of those that cost the same; one without a price is not taken for free.
  const [cheapest] = priced.toSorted(
    (left, right) => (left.hourlyMicros ?? Infinity) - (right.hourlyMicros ?? Infinity) || 0,
  );
  if (!cheapest) return undefined;
  const web = template?.image
    ? { image: template.image, httpPort: template.httpPort ?? undefined }
    : usualImage;
  return {
    region: cheapest.region.name,
    hourlyMicros: cheapest.hourlyMicros,
    resources,
    image: image ?? web.image,
    httpPort: port ?? (image === undefined ? web.httpPort : undefined),
  };
}

/** One that runs without a GPU and without anything to be given. */
function webTemplate(templates: readonly OfferedTemplate[]): OfferedTemplate | undefined {
  return templates.find(
    ({ builtIn, image, httpPort, resources, requiredEnvironment }) =>
      builtIn &&
      image !== null &&
      httpPort !== null &&
      resources?.gpuCount === 0 &&
      requiredEnvironment.length === 0,
  );
}

function hourlyOf({ prices }: OfferedRegion, { cpu, memoryGb }: Resources): number | undefined {
  const { cpuHourMicros, memoryGbHourMicros } = prices ?? {};
  if (cpuHourMicros === undefined || memoryGbHourMicros === undefined) return undefined;
  return cpu * cpuHourMicros + memoryGb * memoryGbHourMicros;
}
