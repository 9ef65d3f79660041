/**
 * Brakes that are engaged, for whom they concern: Fleetkeeper has stopped itself, and a person has to know how far. Most of them are shown by
 * the objects that they stop. One that no object shows is known to the manager alone.
 */
import { rfc3339 } from '../../base/index.ts';
import type { EngagedBrake } from '../../engine/index.ts';
import type { z } from 'zod';
import { seesAccount, sees, type Reader } from '../fleet/reader.ts';
import type { IndexedRow } from '../fleet/row.ts';
import type { brake } from '../schemas/answers.ts';
import type { AnswerContext } from './context.ts';

type Brake = z.infer<typeof brake>;

/** What each of them stops, for people. */
const stopped = new Map([
  ['MassChangeBrake', 'creations and deletions'],
  ['MassDrift', 'the correction of this drift'],
  ['MassFailure', 'the replacement of replicas that failed'],
  ['RemediationBrake', 'restarts after errors'],
]);
const mostBrakes = 50;

/** What stops most is first. */
export function brakesOf(context: AnswerContext): Brake[] {
  const { index, source, reader } = context;
  const shown = shownBrakes(context);
  const hidden = source
    .brakes()
    .filter((each) => isVisible(each, reader, index.accounts))
    .filter((each) => !shown.some((other) => isSame(each, other)))
    .map(({ reason, namespace = null, account = null, message }) => ({
      reason,
      stops: stopped.get(reason) ?? '',
      namespace,
      account,
      count: 0,
      since: null,
      message,
    }));
  return [...shown, ...hidden].slice(0, mostBrakes);
}

/** By reason and account. */
function shownBrakes({ index, source, reader }: AnswerContext): Brake[] {
  const groups = new Map<string, IndexedRow[]>();
  for (const indexed of index.trouble.values()) {
    const { health, namespace, reason, account } = indexed.row;
    if (health !== 'Suspended' || !sees(reader, namespace) || !stopped.has(reason)) continue;
    const id = `${reason} ${account ?? ''}`;
    groups.set(id, [...(groups.get(id) ?? []), indexed]);
  }
  return Array.from(groups.values(), (group) => brakeOf(group, source)).sort(
    (left, right) => rankOf(left) - rankOf(right) || right.count - left.count,
  );
}

function brakeOf(group: readonly IndexedRow[], { store }: AnswerContext['source']): Brake {
  const first = group.reduce((least, each) => (each.sinceMs < least.sinceMs ? each : least));
  const { key, reason, account, sentence } = first.row;
  const condition = store
    .record(key as Parameters<typeof store.record>[0])
    ?.status?.conditions.find((each) => each.reason === reason);
  return {
    reason,
    stops: stopped.get(reason) ?? '',
    namespace: null,
    account,
    count: group.length,
    since: first.sinceMs === 0 ? null : rfc3339(first.sinceMs),
    message: condition?.message ?? sentence.text,
  };
}

function rankOf({ reason }: Brake): number {
  return [...stopped.keys()].indexOf(reason);
}

/** The counts in its message are those of a namespace, an account, or all. */
function isVisible(
  { namespace, account }: EngagedBrake,
  reader: Reader,
  accounts: AnswerContext['index']['accounts'],
): boolean {
  if (reader.namespaces === undefined) return true;
  if (namespace !== undefined) return reader.namespaces.has(namespace);
  const known = accounts.find(({ name }) => name === account);
  return known !== undefined && seesAccount(reader, known);
}

/** Objects of some account show it. */
function isSame({ reason, namespace, account }: EngagedBrake, shown: Brake): boolean {
  if (shown.reason !== reason) return false;
  if (account !== undefined) return shown.account === account;
  return namespace === undefined || shown.account?.startsWith(`${namespace}/`) === true;
}
