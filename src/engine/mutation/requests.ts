/** Sends an action as one request. */
import { entryOfAction, type Action, type Receipt } from '../../actions/index.ts';
import type { ControlApi, Outcome } from '../../api/index.ts';
import { sameValue, type DigestKey } from '../../base/index.ts';

export type { Receipt } from '../../actions/index.ts';

/** Sends the action with the given key. No other function of Fleetkeeper sends mutations. */
export function send(api: ControlApi, action: Action, idempotencyKey: string): Promise<Outcome<Receipt>> {
  return entryOfAction(action).request(api, action, idempotencyKey);
}

/** Keyed digest of everything that is sent. Two requests with the same key must have the same one. */
export function bodyDigest(action: Action, digestKey: DigestKey): string {
  return digestKey.digest(plain(action));
}

/** The same without the revision. So it stays equal when somebody else moves the revision. */
export function fingerprint(action: Action, digestKey: DigestKey): string {
  return digestKey.digest({ ...plain(action), revision: 0 });
}

/** Whether both have the same fingerprint. */
export function sameRequest(left: Action, right: Action): boolean {
  return sameValue({ ...plain(left), revision: 0 }, { ...plain(right), revision: 0 });
}

/** The same without the id, too. So it stays equal when the object gets another thing. */
export function correctionMark(action: Action, digestKey: DigestKey): string {
  return digestKey.digest({ ...plain(action), revision: 0, id: '' });
}

/** Everything that is sent, in the clear. */
export function plain(action: Action): object {
  if ('credentials' in action) return { ...action, credentials: action.credentials.reveal() };
  return 'environment' in action ? { ...action, environment: action.environment?.reveal() } : action;
}
