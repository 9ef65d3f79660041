/**
 * What a stream has shown so far. Pure. After each event it is what the server has (GI5): `state` replaces all of it, `change` names the items that
 * are new or different, the ids that left, and the order.
 */

export interface Item {
  readonly id: string;
  readonly value: unknown;
}

export interface Live {
  /** Null: what the view shows does not exist. */
  readonly head: unknown;
  readonly items: readonly Item[];
  /** Why there is nothing, as the server has it. */
  readonly refusal?: string;
  /** Of the filter before: what matches the new one is awaited. */
  readonly isOutdated?: true;
}

export interface Sent {
  /** RFC 3339, by the clock of the server. */
  readonly at?: string;
  readonly head?: unknown;
  readonly items?: readonly Item[];
  readonly changed?: readonly Item[];
  readonly removed?: readonly string[];
  readonly order?: readonly string[];
}

export const nothingYet: Live = { head: undefined, items: [] };

/** Until the view has what matches another filter, it shows what it has, so that whoever types keeps the field. */
export function outdated(live: Live): Live {
  return live.head === undefined || live.head === null ? nothingYet : { ...live, isOutdated: true };
}

/** `sent`: the data of the event. */
export function applied(before: Live, event: string, sent: Sent): Live {
  if (event === 'state') return { head: sent.head, items: sent.items ?? [] };
  if (event !== 'change') return before;
  const head = 'head' in sent ? sent.head : before.head;
  const byId = new Map(before.items.map((item) => [item.id, item]));
  for (const id of sent.removed ?? []) byId.delete(id);
  for (const item of sent.changed ?? []) byId.set(item.id, item);
  const order = sent.order ?? before.items.map(({ id }) => id);
  return { head, items: order.flatMap((id) => byId.get(id) ?? []) };
}
