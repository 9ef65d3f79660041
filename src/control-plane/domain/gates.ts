/** What must hold before anything is created, started or grown (§5 rule 4, §3 rule 2). */
import type { ServiceResources } from '../../api/wire.ts';
import type { ControlPlaneConfig, GeographyConfig, Prices, RegionConfig } from './config.ts';
import { ApiError, conflict, invalidRequest } from './errors.ts';
import type { Ledger } from './ledger.ts';
import type { AccountRecord } from '../store/records.ts';

export function requireVerifiedEmail(account: AccountRecord): void {
  if (account.emailVerified) return;
  throw new ApiError(
    403,
    'email_unverified',
    `this needs a verified email, and ${account.email} is not verified`,
  );
}

export function requireFunds(account: AccountRecord, ledger: Ledger): void {
  const balanceMicros = ledger.balanceMicros(account);
  if (balanceMicros > 0) return;
  throw conflict(
    'insufficient_funds',
    `this costs money, and the balance is ${balanceMicros} micro-USD; add funds first`,
  );
}

export function requireRegion(config: ControlPlaneConfig, name: string): RegionConfig {
  const region = config.regions.find((candidate) => candidate.name === name);
  if (region) return region;
  const names = config.regions.map((candidate) => candidate.name).join(', ');
  throw new ApiError(400, 'unknown_region', `region: there is no region "${name}"; there are ${names}`);
}

/** "configured pricing required" (§4). */
export function requirePrices(region: RegionConfig): Prices {
  if (region.prices) return region.prices;
  throw conflict(
    'pricing_unavailable',
    `region ${region.name} has no prices, so nothing that costs is created there; whoever runs this control plane has to configure some`,
  );
}

/** The geographies that `geography` allows; absent means `auto`. */
export function requireGeographies(region: RegionConfig, geography: string | undefined): string[] {
  const names = region.geographies.map((candidate: GeographyConfig) => candidate.name);
  if (geography === undefined || geography === 'auto') return names;
  if (names.includes(geography)) return [geography];
  throw new ApiError(
    400,
    'unknown_geography',
    `geography: region ${region.name} has no group "${geography}"; it has ${names.join(', ')}, or auto`,
  );
}

export function requireResources(config: ControlPlaneConfig, resources: ServiceResources): void {
  const { largestResources } = config;
  if (!Number.isInteger(resources.gpuCount)) {
    throw invalidRequest('resources.gpuCount: must be a whole number');
  }
  for (const field of ['gpuCount', 'cpu', 'memoryGb'] as const) {
    if (resources[field] > largestResources[field]) {
      throw invalidRequest(`resources.${field}: must be at most ${largestResources[field]}`);
    }
  }
}
