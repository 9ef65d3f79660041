/** What one answer of the API shows; the table of outcomes is in outcome.ts. */
import { z } from 'zod';
import { parseRetryAfter, type Sensitive } from '../base/index.ts';
import { Descriptions } from './descriptions.ts';
import * as form from './field-forms.ts';
import { noJson, redirectTo } from './foreign-answers.ts';
import type { Outcome, Unknown } from './outcome.ts';
import { presentable, secretsOf } from './presentable.ts';
import type { Reader } from './readers.ts';
import { meaningOf, type RefusalRule } from './refusal-meanings.ts';
import { Misread, isObject, type Reading } from './reading.ts';
import { textOf, type HttpReply } from './transport.ts';
import type { Unreadable } from './wire.ts';

interface Question<Value> {
  /** Which object is asked for. */
  readonly id?: string;
  readonly body?: unknown;
  readonly answer: Reader<Value>;
  /** The answer is plain text, not JSON. */
  readonly text?: boolean;
}

export interface Notes extends Omit<Reading, 'descriptions'> {
  /** The account's own rules for what refusals mean. */
  readonly refusals?: readonly RefusalRule[] | undefined;
}

/** `notes`: called for fields that could not be read. `besides`: what the answer has beside this reply. */
export function readAnswer<Value>(
  reply: HttpReply,
  question: Question<Value>,
  credential: Sensitive<string> | undefined,
  wallMs: number,
  notes: Notes,
  besides = nothing,
): Outcome<Value> {
  if (reply.kind !== 'reply') return reply;
  const unknown = (reason: string): Unknown => ({ kind: 'unknown', reason, status: reply.status });
  const isJson = !question.text || reply.status >= 300;
  const text = textOf(reply.body);
  const excess = isJson ? tooMuch(plus(sizeOf(text), besides)) : undefined;
  if (excess !== undefined) return unknown(`a ${reply.status} with ${excess} in it`);
  const body = isJson ? parseJson(text) : text;
  if (isNestedDeeper(body, deepest)) {
    return unknown(`a ${reply.status} that is nested deeper than ${deepest} levels`);
  }
  const secrets = [...(credential ? [credential.reveal()] : []), ...secretsOf(question.body)];
  if (reply.status >= 200 && reply.status < 300) {
    if (body === undefined && text.trim() !== '') {
      return unknown(`a ${reply.status} that can't be read (${noJson(reply, secrets)})`);
    }
    const isOpen = isJson && question.answer.mayHoldKey !== true;
    const shown = isOpen ? withoutKey(body, text, credential?.reveal()) : body;
    const counted = new Counted();
    const reading = { ...notes, descriptions: new Descriptions(secrets), note: counted.add };
    const value = question.answer.read(shown, reading);
    counted.report(notes.note);
    if (value instanceof Misread) {
      return unknown(`a ${reply.status} that can't be read (${value.message})`);
    }
    return ofTheRightOne(value, question, reply.status);
  }
  if (reply.status >= 300 && reply.status < 400) {
    return unknown(redirectTo(reply, secrets));
  }
  const error = readError(body);
  // A 408 shows only that the server stopped waiting, not how much it had read.
  const definite =
    (reply.status >= 400 && reply.status < 500 && reply.status !== 408) || reply.status === 503;
  if (!error || !definite) {
    const reason = `status ${reply.status} ${error ? '' : 'without an error object'}`.trim();
    return { ...unknown(reason), retryAfterMs: parseRetryAfter(reply.retryAfter, wallMs) };
  }
  const { code, message } = error;
  const meaning = meaningOf({ status: reply.status, code, message }, notes.refusals);
  // A refusal of the repetition, while the request that had the key first may still take effect.
  if (meaning === 'KeyInUse') {
    const said = presentable(code || message, secrets);
    return unknown(`status ${reply.status} ${said}: what was sent with this key before is under way`);
  }
  if (meaning === 'OutcomeUnknown') {
    const said = presentable(message || code, secrets);
    return unknown(`status ${reply.status}, which leaves open what becomes of it: ${said}`);
  }
  return {
    kind: 'refused',
    status: reply.status,
    code: presentable(code, secrets),
    message: presentable(message, secrets),
    meaning,
    retryAfterMs: parseRetryAfter(reply.retryAfter, wallMs),
  };
}

/** Problems of one answer. Of equal ones there may be hundreds of thousands, and each would be a metric and a line. */
class Counted {
  readonly #times = new Map<string, Map<Unreadable, number>>();

  readonly add = (resource: string, problem: Unreadable): void => {
    const ofResource = this.#times.get(resource) ?? new Map<Unreadable, number>();
    this.#times.set(resource, ofResource.set(problem, (ofResource.get(problem) ?? 0) + 1));
  };

  report(note: Notes['note']): void {
    for (const [resource, problems] of this.#times)
      for (const [problem, times] of problems) note(resource, problem, times);
  }
}

/** §7: an `error` object with `code` and `message`, in any form that either can be read in. */
function readError(body: unknown): { readonly code: string; readonly message: string } | undefined {
  const error = isObject(body) ? body['error'] : undefined;
  if (!isObject(error)) return undefined;
  const code = form.text(error['code']);
  const message = form.reason(error['message']);
  if (code === undefined && typeof message !== 'string') return undefined;
  return { code: code ?? '', message: message ?? '' };
}

/** A record of another object, by mistake or on purpose, shows nothing about the requested one. */
function ofTheRightOne<Value>(
  value: Value,
  { id, body, answer }: Question<Value>,
  status: number,
): Outcome<Value> {
  // What has no id yet has a name.
  const asked = id ?? nameIn(body);
  const answered = id === undefined ? nameIn(value) : answer.subject?.(value);
  if (!answer.subject || asked === undefined || answered === undefined || isSame(asked, answered)) {
    return { kind: 'applied', status, value };
  }
  const reason = `a ${status} that is about ${presentable(answered, [])}, not ${asked}`;
  return { kind: 'unknown', reason, status };
}

const named = z.union([
  z.looseObject({ name: z.string() }).transform(({ name }) => name),
  z.looseObject({ repository: z.string() }).transform(({ repository }) => repository),
]);

function nameIn(body: unknown): string | undefined {
  return named.safeParse(body).data;
}

/** An API may have a form of its own for names, and a shorter one. */
function isSame(one: string, other: string): boolean {
  const [short = '', long = ''] = [plain(one), plain(other)].sort(
    (left, right) => left.length - right.length,
  );
  return long.startsWith(short);
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
}

/**
 * Counted before anything is made of them. An account of 10,000 services has a fifth of the maps and lists, and half of the commas. A map or list
 * takes up to a hundred times the memory that it takes on the wire, a member seven times.
 */
const mostLists = 250_000;
const mostCommas = 600_000;

/** What a text consists of, as far as it takes memory; brackets and commas within texts count, too. */
export interface Size {
  readonly lists: number;
  readonly commas: number;
}

export const nothing: Size = { lists: 0, commas: 0 };

export function plus(one: Size, other: Size): Size {
  return { lists: one.lists + other.lists, commas: one.commas + other.commas };
}

/** No more than one above the most is counted. */
export function sizeOf(text: string): Size {
  const lists = countOf(text, '{', mostLists) + countOf(text, '[', mostLists);
  return { lists, commas: countOf(text, ',', mostCommas) };
}

function countOf(text: string, character: string, most: number): number {
  let count = 0;
  let at = text.indexOf(character);
  for (; at !== -1 && count <= most; count += 1) at = text.indexOf(character, at + 1);
  return count;
}

/** Why an answer of that size is not read. */
function tooMuch({ lists, commas }: Size): string | undefined {
  if (lists > mostLists) return `more than ${mostLists} maps and lists`;
  return commas > mostCommas ? `more than ${mostCommas} commas` : undefined;
}

/**
 * Far above what any answer needs. Code that reads, compares or writes a value recurses into it, and the stack is
 * finite.
 */
const deepest = 64;

/** It recurses no further than that. */
function isNestedDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((member) => isNestedDeeper(member, levels - 1));
}

/** A shorter key may occur in any answer by chance. */
const shortestKey = 16;

/** An API may repeat the request's key in any field, and many fields are shown in status, plans and logs. */
function withoutKey(body: unknown, text: string, key: string | undefined): unknown {
  if (key === undefined || key.length < shortestKey || !text.includes(key)) return body;
  const without = (value: unknown): unknown => {
    if (typeof value === 'string') return value.replaceAll(key, '[redacted]');
    if (Array.isArray(value)) return value.map(without);
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, without(member)]));
  };
  return without(body);
}

/** Undefined, which no schema accepts, when it is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
