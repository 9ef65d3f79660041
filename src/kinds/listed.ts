/** Kinds of which the API has a list, and no read of a single one: what is in the list is read by reading the list. */
import type { Outcome, wire } from '../api/index.ts';

export async function readFromList<Remote extends { readonly id: string }>(
  list: Promise<Outcome<wire.Shown<Remote>>>,
  id: string,
): Promise<Outcome<Remote>> {
  const outcome = await list;
  if (outcome.kind !== 'applied') return outcome;
  const item = outcome.value.items.find((candidate) => candidate.id === id);
  if (item) return { ...outcome, value: item };
  if (outcome.value.unidentified.length > 0) {
    return { kind: 'unknown', reason: `a list without ${id}, in which not all entries can be identified` };
  }
  const message = `${id} is not in the list`;
  return {
    kind: 'refused',
    status: 404,
    code: 'not_listed',
    message,
    meaning: 'NotFound',
    retryAfterMs: undefined,
  };
}
