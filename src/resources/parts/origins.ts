/** Origins (scheme, host and port): what a key or a Secret may be sent to. */
import { annotations } from './names.ts';

/** Of the addresses that were asked for lately: each pass asks for that of its account several times. */
const known = new Map<string, string>();
const mostKnown = 100;

/** That of an address; the text itself when it is none. */
export function originOf(url: string): string {
  const before = known.get(url);
  if (before !== undefined) return before;
  const origin = URL.parse(url)?.origin ?? url;
  if (known.size >= mostKnown) known.clear();
  known.set(url, origin);
  return origin;
}

export interface NamedOrigins {
  readonly origins: readonly string[];
  /** What is no origin; it allows nothing. */
  readonly wrong: readonly string[];
}

/** Of an annotation: origins with blanks or commas between them. */
export function readOrigins(text: string): NamedOrigins {
  const given = text.split(/[\s,]+/).filter((part) => part !== '');
  return {
    origins: given.filter(isOrigin).map(originOf),
    wrong: given.filter((part) => !isOrigin(part)),
  };
}

/** Without path, query and user. */
export function isOrigin(text: string): boolean {
  return /^https?:\/\//i.test(text) && URL.canParse(text) && new URL(text).href === `${originOf(text)}/`;
}

/** Why `secret` is not put into a request to `origin`; undefined: it may be. */
export function secretProblem(
  secret: string,
  allowed: readonly string[] | undefined,
  origin: string | undefined,
): string | undefined {
  if (!allowed || origin === undefined || allowed.includes(origin)) return undefined;
  const named = allowed.join(', ') || 'no origin';
  return `the ${secret} may not be sent to ${origin}: its annotation ${annotations.allowedOrigins} names ${named}`;
}
