/** Which accounts could not be read, and what to do about it. */
import { accountObject, placeText, type AccountObject, type DesiredSnapshot } from '../../desired/index.ts';
import type { PassResult } from '../../engine/index.ts';
import type { UnreadAccount } from '../../manager/index.ts';
import { entryOf } from '../../reasons/index.ts';
import { accountPlaceOf, type ObjectKey } from '../../resources/index.ts';
import type { GivenAccount } from '../source.ts';

type BlindPlan = Extract<PassResult['plan'], { kind: 'wait' | 'hold' }>;

export function isBlind(plan: PassResult['plan']): plan is BlindPlan {
  return (plan.kind === 'wait' || plan.kind === 'hold') && entryOf(plan.reason).accountUnread === true;
}

interface Unread {
  readonly account: UnreadAccount;
  /** For people. */
  readonly line: string;
}

export function unreadAccounts(
  results: ReadonlyMap<ObjectKey, PassResult>,
  snapshot: DesiredSnapshot,
  environment: GivenAccount,
): Unread[] {
  const found = new Map<string, Unread>();
  for (const [key, { plan }] of results) {
    if (!isBlind(plan)) continue;
    const document = accountOf(key, snapshot);
    const message = `${plan.message}${adviceFor(plan, document, environment)}`;
    const line = `${placeOf(document, environment)}the account can't be read: ${message}`;
    const { file = null, line: at = null } = document?.location ?? {};
    const account = { account: document?.name ?? null, file, line: at, reason: plan.reason, message };
    found.set(line, { account, line });
  }
  return [...found.values()];
}

function accountOf(key: ObjectKey, { objects }: DesiredSnapshot): AccountObject | undefined {
  const object = objects.get(key);
  const place = object && accountPlaceOf(key, object.spec);
  return place && 'account' in place ? accountObject(objects, place.account) : undefined;
}

/** Where the account is declared, for people. */
function placeOf(document: AccountObject | undefined, { url }: GivenAccount): string {
  if (document) return `${placeText(document.location)}: Account ${document.name}: `;
  return url === undefined ? '' : `FLEETKEEPER_API_URL (${url}): `;
}

/** What to do, where the message does not say so itself. */
function adviceFor(
  { reason }: BlindPlan,
  document: AccountObject | undefined,
  { keySource }: GivenAccount,
): string {
  const secret = document?.spec.credentialsSecretRef;
  const place = secret ? `\`${secret.key}\` of the Secret ${secret.name}` : keySource;
  if (reason === 'CredentialRejected') return `; put a key that it knows into ${place}`;
  return '';
}
