/**
 * Reads of an account in which nothing happened. The answer as a whole always differs, since the balance changes with
 * each charge; the bytes of its two long lists do not. A list with the same bytes as in the previous read is taken
 * from there, and everything else is read as usual.
 *
 *     bytes ── top-level.ts ──> services, volumes ── same bytes, same key ──> the previous items ──────┐
 *                                                 └── other bytes ──> read with all the rest ──────────┴──> account
 *
 * The long lists are compared as they came: a text of each would be garbage, of which a fleet has megabytes in each poll.
 *
 * | if | then |
 * |---|---|
 * | the text is not that of one object with each member once and both lists, or the rest of it is refused | all of it is read |
 * | something of the list could not be read, had no id, or wrote ids in its own way | that list is read each time, and counted each time |
 * | the credential is another one | all of it is read |
 */
import type { Sensitive } from '../base/index.ts';
import { nothing, plus, readAnswer, sizeOf, type Notes, type Size } from './answer.ts';
import type { Outcome } from './outcome.ts';
import * as readers from './readers.ts';
import type * as wire from './wire.ts';
import { membersOf, standsAt, type Span } from './top-level.ts';
import { textOf, type Body, type HttpReply } from './transport.ts';

const lists = { services: 'service', volumes: 'volume' } as const;
type ListName = keyof typeof lists;
const listNames = ['services', 'volumes'] as const satisfies readonly ListName[];

/** A list as it was read last, with nothing odd in it. */
interface KeptList {
  readonly text: Buffer;
  readonly items: readonly unknown[];
  /** Of the text, which counts against the bound of an answer. */
  readonly size: Size;
}

interface Kept {
  readonly credential: string | undefined;
  readonly lists: Partial<Record<ListName, KeptList>>;
}

const question = { answer: readers.account };
const [openList, closeList] = Buffer.from('[]');

export class QuietReads {
  #kept: Kept | undefined;

  read(
    reply: HttpReply,
    credential: Sensitive<string> | undefined,
    wallMs: number,
    notes: Notes,
  ): Outcome<wire.Account> {
    const ask = (asked: HttpReply, heard: Notes, besides = nothing) =>
      readAnswer(asked, question, credential, wallMs, heard, besides);
    if (reply.kind !== 'reply' || reply.status < 200 || reply.status >= 300) return ask(reply, notes);
    const key = credential?.reveal();
    const before = this.#kept?.credential === key ? (this.#kept?.lists ?? {}) : {};
    const known = listNames.flatMap((name) => before[name]?.text ?? []);
    const text = bytesOf(reply.body);
    const found = membersOf(text, known);
    // An account may stand in a wrapper, and then the members beside that are not those that count.
    const members = listNames.every((name) => found?.has(name)) ? found : undefined;
    const same = listNames.filter((name) => isSame(text, members?.get(name), before[name]));
    const heard = new Heard(notes);
    let outcome: Outcome<wire.Account> | undefined;
    if (members !== undefined && same.length > 0) {
      // One bracket of each is in the rest.
      const besides = same
        .map((name) => before[name]?.size ?? nothing)
        .reduce(plus, { lists: -same.length, commas: 0 });
      outcome = ask({ ...reply, body: without(text, members, same) }, heard, besides);
    }
    if (outcome?.kind === 'applied') outcome = { ...outcome, value: withItems(outcome.value, same, before) };
    else {
      heard.forget();
      same.length = 0;
      outcome = ask(reply, heard);
    }
    const value = outcome.kind === 'applied' ? outcome.value : undefined;
    const kept = Object.fromEntries(same.map((name) => [name, before[name]]));
    const others = listNames.filter((name) => !same.includes(name));
    const next = value && members && listsOf(text, members, value, heard, others);
    this.#kept = next && { credential: key, lists: { ...next, ...kept } };
    heard.pass();
    return outcome;
  }
}

function bytesOf(body: Body): Buffer {
  if (typeof body === 'string') return Buffer.from(body);
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength);
}

function isSame(text: Buffer, span: Span | undefined, before: KeptList | undefined): boolean {
  if (!span || !before) return false;
  return span.end - span.start === before.text.length && standsAt(text, before.text, span.start);
}

/** With an empty list in the place of each of these. */
function without(text: Buffer, members: ReadonlyMap<string, Span>, names: readonly ListName[]): string {
  const spans = names.flatMap((name) => members.get(name) ?? []);
  let [rest, at] = ['', 0];
  for (const { start, end } of spans.sort((left, right) => left.start - right.start)) {
    rest += `${text.toString('utf8', at, start)}[]`;
    at = end;
  }
  return rest + text.toString('utf8', at);
}

function withItems(value: wire.Account, names: readonly ListName[], before: Kept['lists']): wire.Account {
  const items = Object.fromEntries(names.map((name) => [name, before[name]?.items]));
  return { ...value, ...items };
}

/** Those of `names` that can be taken as they are when their bytes come again. */
function listsOf(
  text: Buffer,
  members: ReadonlyMap<string, Span>,
  value: wire.Account,
  heard: Heard,
  names: readonly ListName[],
): Kept['lists'] {
  const kept = names.flatMap((name) => {
    const { start, end } = members.get(name) ?? { start: 0, end: 0 };
    const isClean = value.unidentified[name].length === 0 && !heard.isOdd(lists[name]);
    if (!isClean || text[start] !== openList || text[end - 1] !== closeList) return [];
    // A copy: a part of the answer would keep all of it alive.
    const list = Buffer.allocUnsafeSlow(end - start);
    text.copy(list, 0, start, end);
    return [[name, { text: list, items: value[name], size: sizeOf(textOf(list)) }] as const];
  });
  return Object.fromEntries(kept);
}

/** Notes of an answer, to be passed on in order when it is known that the answer counts. */
class Heard implements Notes {
  readonly #notes: Notes;
  readonly #pending: { readonly resource: string | undefined; readonly report: () => void }[] = [];

  constructor(notes: Notes) {
    this.#notes = notes;
  }

  get refusals(): Notes['refusals'] {
    return this.#notes.refusals;
  }

  readonly note: Notes['note'] = (resource, problem, times) => {
    this.#pending.push({ resource, report: () => this.#notes.note(resource, problem, times) });
  };

  readonly spelled = (id: string, shown: string): void => {
    this.#pending.push({ resource: undefined, report: () => this.#notes.spelled(id, shown) });
  };

  /** An id does not say in which list it stands. */
  isOdd(kind: string): boolean {
    return this.#pending.some(({ resource }) => resource === undefined || resource === kind);
  }

  forget(): void {
    this.#pending.length = 0;
  }

  pass(): void {
    for (const { report } of this.#pending) report();
  }
}
