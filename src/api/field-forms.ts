/**
 * The forms in which a field may be answered. Each function gives the value in one form, `null` for "none", or
 * `undefined` for a form that it does not know.
 */
import { isObject } from './reading.ts';
import { limits, type ServiceResources } from './wire.ts';

/** What informs is cut; what decides and is longer can't be read. */
const longestText = 4096;
const longestName = 256;
const decimal = /^[+-]?\d+(\.\d+)?$/;

/** A text, or the name of an object that has one. */
export function text(value: unknown): string | undefined {
  if (typeof value === 'string') return value.slice(0, longestText);
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  return isObject(value) ? firstText(value, ['name', 'id', 'code', 'slug', 'key', 'value']) : undefined;
}

/** A text and nothing else: what decides is not guessed. */
export function plainText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= longestText ? value : undefined;
}

/** One of a set of values, in any letter case. */
export function word(value: unknown): string | undefined {
  return plainText(value)?.toLowerCase();
}

export function anyText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function firstText(value: Readonly<Record<string, unknown>>, names: readonly string[]): string | undefined {
  return names
    .map((name) => value[name])
    .find((one): one is string => typeof one === 'string' && one !== '')
    ?.slice(0, longestText);
}

/** A number, or the decimal text of one. No number of the contract is beyond 2^53-1 in either direction (§2, §8). */
export function number(value: unknown): number | undefined {
  const isText = typeof value === 'string' && value.length <= longestName && decimal.test(value.trim());
  const found = isText ? Number(value) : value;
  return typeof found === 'number' && Math.abs(found) <= Number.MAX_SAFE_INTEGER ? found : undefined;
}

/**
 * A thousand times the largest volume (§8). A provider may offer more than the contract allows. What is beyond is no size in GB: one in bytes, or a
 * mistake. It would multiply a price.
 */
export const largestSize = 1000 * limits.volumeSizeGb.max;

/** GB of storage, or how many GPUs, CPUs and GB of memory something has: for these, the contract has no ranges (§8). */
export function size(value: unknown): number | undefined {
  const found = number(value);
  return found !== undefined && found >= 0 && found <= largestSize ? found : undefined;
}

/**
 * Micro-USD: 100,000 USD per hour for one thing, a thousand times what the most expensive machines cost. What is beyond is a mistake. For as long as it
 * is shown it would count as spent, and budgets would stop services for it.
 */
export const highestPrice = 100_000_000_000;

/** A price may be a fraction of a micro-USD: it is rounded up. */
export function price(value: unknown): number | undefined {
  const amount = number(value);
  const whole = amount === undefined ? undefined : micros(Math.ceil(amount));
  return whole !== undefined && whole <= highestPrice ? whole : undefined;
}

/** Amounts may be fractions of a micro-USD. */
export function micros(value: unknown): number | undefined {
  const amount = number(value);
  const whole = amount === undefined ? undefined : Math.round(amount);
  return whole !== undefined && Number.isSafeInteger(whole) ? whole : undefined;
}

/** A number as answered (engine/plan/seen.ts judges whether it can be one), or the text of a whole one. */
export function revision(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && /^[1-9]\d{0,15}$/.test(value) ? Number(value) : undefined;
}

export function flag(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value;
  const found = typeof value === 'string' ? value.toLowerCase() : value;
  if (found === 'true' || found === 1) return true;
  return found === 'false' || found === 0 ? false : undefined;
}

/** Zero and an empty text are no port. */
export function port(value: unknown): number | null | undefined {
  if (value === '' || value === 0) return null;
  const found = number(
    isObject(value) ? (value['port'] ?? value['number'] ?? value['containerPort']) : value,
  );
  return found !== undefined && Number.isInteger(found) && found > 0 && found <= 65_535 ? found : undefined;
}

/** Minutes; 0 is left to who asks. */
export function minutes(value: unknown): number | undefined {
  const found = number(isObject(value) ? value['minutes'] : value);
  return found !== undefined && Number.isInteger(found) && found >= 0 ? found : undefined;
}

const knownStates = new Set([
  'running',
  'error',
  'paused',
  'sleeping',
  'provisioning',
  'deleting',
  'ready',
  'expanding',
]);

/** The states that are known, in any case of letters; any other text as it is. */
export function state(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '' || value.length > longestName) return undefined;
  const plain = value.trim().toLowerCase();
  return knownStates.has(plain) ? plain : value;
}

/** A list of texts. */
export function texts(value: unknown): string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const read = value.map((item) => (typeof item === 'number' ? String(item) : item));
  return read.every((item) => typeof item === 'string') ? read : undefined;
}

/** A list of arguments, or one text that a shell would split. */
export function command(value: unknown): string[] | string | null | undefined {
  if (value === '') return null;
  return typeof value === 'string' ? value : texts(value);
}

/** Members that are not shown are left out. */
export function resources(value: unknown): Partial<ServiceResources> | undefined {
  if (!isObject(value)) return undefined;
  const read: Record<string, unknown> = { ...value };
  for (const name of ['gpuCount', 'cpu', 'memoryGb'] as const) {
    const shown = value[name];
    if (shown === undefined || shown === null) {
      delete read[name];
      continue;
    }
    const amount = size(shown);
    if (amount === undefined) return undefined;
    read[name] = amount;
  }
  return read;
}

/** All three members (§2): what replaces a specification must not lose one. */
export function wholeResources(value: unknown): ServiceResources | undefined {
  const read = resources(value);
  const isWhole = read?.gpuCount !== undefined && read.cpu !== undefined && read.memoryGb !== undefined;
  return isWhole ? (read as ServiceResources) : undefined;
}

/** The id of something else, as text; an empty one is none. */
export function reference(value: unknown): string | null | undefined {
  const id = isObject(value) ? value['id'] : value;
  if (id === '' || id === null) return null;
  return typeof id === 'string' ? id.toLowerCase() : undefined;
}

const commaSeparated = /^[A-Za-z_][\w.-]*(\s*,\s*[A-Za-z_][\w.-]*)*$/;

/**
 * Names of variables: a list of texts (`NAME` or `NAME=…`) or of objects that have a name, a map by name, or names with commas between. The names
 * of a list in which one entry can't be read are not known.
 */
export function variableNames(value: unknown): string[] | undefined {
  if (typeof value === 'string') return commaSeparated.test(value) ? value.split(/\s*,\s*/) : undefined;
  if (Array.isArray(value)) {
    const names = value.map((item: unknown) => {
      const name = isObject(item) ? firstText(item, ['name', 'key', 'variable']) : item;
      return typeof name === 'string' ? name.split('=')[0] : undefined;
    });
    return names.every((name) => name !== undefined && name !== '') ? (names as string[]) : undefined;
  }
  if (!isObject(value)) return undefined;
  return Object.values(value).some((item) => Array.isArray(item)) ? undefined : Object.keys(value);
}

/** An address: a text, `{url}`, `{host, port, protocol}`, or the first of a list or map of these. */
export function endpoint(value: unknown): string | null | undefined {
  if (typeof value === 'string') return value === '' ? null : value.slice(0, longestText);
  if (Array.isArray(value)) return value.length === 0 ? null : value.map(endpoint).find(Boolean);
  if (!isObject(value)) return undefined;
  if (Object.keys(value).length === 0) return null;
  const url = firstText(value, ['url', 'href', 'uri', 'publicUrl', 'address', 'endpoint']);
  if (url !== undefined) return url;
  const host = firstText(value, ['host', 'hostname', 'domain', 'ip']);
  if (host === undefined) {
    return Object.values(value).find((one): one is string => typeof one === 'string' && URL.canParse(one));
  }
  const at = port(value['port'] ?? 0);
  const found = firstText(value, ['protocol', 'scheme'])?.replace(/:.*$/, '').toLowerCase();
  const scheme = found ?? (at === null || at === 443 ? 'https' : 'http');
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}${at ? `:${at}` : ''}`;
}

/** Why something failed: a text, or the texts in an object or a list of them. */
export function reason(value: unknown): string | null | undefined {
  if (typeof value === 'string') return value === '' ? null : value.slice(0, longestText);
  if (value === false) return null;
  if (Array.isArray(value)) {
    const found = value.map(reason).filter((one) => typeof one === 'string');
    return value.length === 0 ? null : found.length > 0 ? found.join('; ') : undefined;
  }
  if (!isObject(value)) return typeof value === 'number' ? String(value) : undefined;
  if (Object.keys(value).length === 0) return null;
  const code = text(value['code'] ?? value['type']);
  const members = ['message', 'reason', 'detail', 'details', 'description', 'error', 'title'];
  const said = firstText(value, members) ?? withinOne(value, members);
  const found = [code, said].filter((part) => part !== undefined && part !== '');
  return found.length > 0 ? found.join(': ') : undefined;
}

/** The text of a member that is an object itself. */
function withinOne(value: Readonly<Record<string, unknown>>, members: readonly string[]): string | undefined {
  const inner = members.map((name) => value[name]).find(isObject);
  return inner && firstText(inner, members);
}

/** Since 1973 a time in seconds is above the first, one in milliseconds above the second, one in microseconds above the third. */
const firstSeconds = 1e8;
const firstMilliseconds = 1e11;
const firstMicroseconds = 1e14;
const latestMs = 8.64e15;

/** Unix milliseconds of a time in seconds, milliseconds or microseconds, or of a text (ISO 8601). */
export function time(value: unknown): number | undefined {
  const amount = number(value);
  if (amount === undefined) {
    const parsed = typeof value === 'string' ? Date.parse(value) : Number.NaN;
    return Number.isFinite(parsed) ? parsed : undefined;
  }
  const distance = Math.abs(amount);
  const isSeconds = distance >= firstSeconds && distance < firstMilliseconds;
  const ms = distance >= firstMicroseconds ? amount / 1000 : isSeconds ? amount * 1000 : amount;
  return Math.abs(ms) <= latestMs ? Math.round(ms) : undefined;
}
