import { sha256, type PlanFile, type PlannedObject, type PlannedStep } from '../../../src/plan-file/index.ts';
import type { ObjectKey } from '../../../src/resources/index.ts';

export const startMs = Date.parse('2026-11-27T08:00:00Z');
export const web = 'ContainerService/default/web' as ObjectKey;
export const api = 'ContainerService/default/api' as ObjectKey;
export const llm = 'ServiceFleet/default/llm' as ObjectKey;
export const account = 'Account/default/default' as ObjectKey;

/** `what`: what it sends; for a fleet, what is wanted in the end. */
export function step(action: string, what: string = action, count?: number): PlannedStep {
  const about = { action, fields: [{ path: what, desired: what, observed: null }] };
  return { ...about, fingerprint: sha256({ what }), ...(count === undefined ? {} : { count }) };
}

export function objectWith(
  key: ObjectKey,
  steps: readonly PlannedStep[],
  more: Partial<PlannedObject> = {},
): PlannedObject {
  const before = { externalId: `id of ${key}`, revision: 1, state: 'running' };
  return { key, documentDigest: sha256(key), before, steps: [...steps], later: [], ...more };
}

export function fileWith(objects: readonly PlannedObject[], more: Partial<PlanFile> = {}): PlanFile {
  return {
    apiVersion: 'fleetkeeper.dev/v1alpha1',
    kind: 'PlanFile',
    formatVersion: 1,
    createdAt: new Date(startMs).toISOString(),
    expiresAt: new Date(startMs + 86_400_000).toISOString(),
    fleetkeeper: '0.2.0',
    source: 'fleet',
    accounts: [{ key: account, identityId: 'acme', keyCheck: 'check' }],
    objects: [...objects],
    allow: { massChange: false },
    summary: {},
    cost: {},
    digest: sha256('the file'),
    ...more,
  };
}
