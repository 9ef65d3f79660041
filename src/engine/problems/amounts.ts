/**
 * Which amounts belong to an account as a whole (GI2). A Budget with `accountRef` counts all that the account holds, also what is in namespaces
 * of others, and what waits for it names its sums. So a row has two forms: one without these amounts, by which lists are filtered and sorted for
 * everybody, and one with them, for who may see the account. Pure.
 *
 * | object                               | what only readers of its account see                                        |
 * |--------------------------------------|-----------------------------------------------------------------------------|
 * | a Budget with `accountRef`           | its status, but for conditions; of these, messages that have amounts or names |
 * | what waits for a budget              | amounts in messages about that                                              |
 * | any other                            | nothing                                                                     |
 */
import { entryOf, isBlocking, isReason } from '../../reasons/index.ts';
import { traitsOf, parseObjectKey, type Condition, type ObjectKey } from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';

/** The same record as readers see it that do not see its account; undefined: there is no difference. */
export function withoutAmounts(record: ObjectRecord): ObjectRecord | undefined {
  const { status } = record;
  if (!status) return undefined;
  if (countsAccount(record)) {
    const { observedGeneration, conditions } = status;
    const times = ['month', 'since', 'countedAt'].flatMap((field) =>
      status[field] === undefined ? [] : [[field, status[field]] as const],
    );
    return {
      ...record,
      status: {
        ...Object.fromEntries(times),
        observedGeneration,
        conditions: conditions.map(ofBudget),
      },
    };
  }
  if (!status.conditions.some(isAboutBudget)) return undefined;
  return { ...record, status: { ...status, conditions: status.conditions.map(ofMember) } };
}

/** It counts all of an account. */
function countsAccount({ key, kind, manifest: { spec } }: ObjectRecord): boolean {
  if (!isBudget(key)) return false;
  const { scope } = kind as { readonly scope?: { readonly of: string } };
  return scope?.of === 'account' || spec['accountRef'] !== undefined;
}

/** Of an Event about the object. `record` undefined: nobody knows any more what it counted. */
export function eventWithoutAmounts(
  key: ObjectKey,
  record: ObjectRecord | undefined,
  event: Pick<Condition, 'reason' | 'message'>,
): string {
  if (record ? countsAccount(record) : isBudget(key)) return hidden;
  return isAboutBudget(event) ? event.message.replaceAll(amounts, '$…') : event.message;
}

function isBudget(key: ObjectKey): boolean {
  return 'budget' in traitsOf(parseObjectKey(key).kind);
}

const hidden = 'its account is shared by all namespaces: who sees all of them sees the amounts';

/** What its own document brought about has no amounts. */
const plainReasons: ReadonlySet<string> = new Set([
  'AwaitingObservation',
  'ImmutableFieldChanged',
  'InvalidSpec',
]);

function ofBudget(condition: Condition): Condition {
  const isPlain = condition.message === '' || plainReasons.has(condition.reason);
  return isPlain ? condition : { ...condition, message: hidden };
}

function isAboutBudget({ reason, message }: Pick<Condition, 'reason' | 'message'>): boolean {
  const isForBudget = isReason(reason) && isBlocking(reason) && entryOf(reason).forBudget === true;
  return isForBudget && amount.test(message);
}

const amount = /-?\$\d[\d.,]*/;
const amounts = new RegExp(amount, 'g');

function ofMember(condition: Condition): Condition {
  if (!isAboutBudget(condition)) return condition;
  return { ...condition, message: condition.message.replaceAll(amounts, '$…') };
}
