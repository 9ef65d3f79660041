/**
 * The states of a service that the contract and its reference name. In any other state nothing is sent (§3
 * "Gaps").
 */
import { providerText } from './provider-text.ts';
import { recheckMs, waitFor, type Difference, type Wait } from './types.ts';

export const settledStates: ReadonlySet<string> = new Set(['running', 'sleeping', 'paused', 'error']);
export const passingStates: ReadonlySet<string> = new Set(['provisioning', 'deleting']);

export function waitInUnknownState(state: string, differences: readonly Difference[]): Wait {
  return waitFor(
    'UnknownState',
    `the API reports the state "${providerText(state, [], 100)}", which is not known; nothing is done in it`,
    { recheckAfterMs: recheckMs.protection, differences },
  );
}
