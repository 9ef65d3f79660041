/** One action, one request. */
import { entryOfAction, type Action, type Receipt } from '../../actions/index.ts';
import type { ControlApi, Outcome } from '../../api/index.ts';
import type { DigestKey } from '../../base/index.ts';

export type { Receipt } from '../../actions/index.ts';

/** Sends the action under the given key. Nothing else of fleetkeeper mutates. */
export function send(api: ControlApi, action: Action, idempotencyKey: string): Promise<Outcome<Receipt>> {
  return entryOfAction(action).request(api, action, idempotencyKey);
}

/** Keyed digest of everything that is sent: two requests with the same key must agree in it. */
export function bodyDigest(action: Action, digestKey: DigestKey): string {
  return digestKey.digest(plain(action));
}

/** The same without the revision: what is wanted, however often somebody else moves the revision. */
export function fingerprint(action: Action, digestKey: DigestKey): string {
  return digestKey.digest({ ...plain(action), revision: 0 });
}

/** And without the id: the same of whatever stands for the object. */
export function correctionMark(action: Action, digestKey: DigestKey): string {
  return digestKey.digest({ ...plain(action), revision: 0, id: '' });
}

/** All that is sent, in the clear. */
export function plain(action: Action): object {
  if ('credentials' in action) return { ...action, credentials: action.credentials.reveal() };
  return 'environment' in action ? { ...action, environment: action.environment?.reveal() } : action;
}
