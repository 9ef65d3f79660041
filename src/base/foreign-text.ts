/**
 * Texts that others wrote (the API in an error, an event, a state) go into status, logs and Events: without our secrets, on
 * one line, bounded, and without anything that a terminal would obey.
 */

const longestText = 500;
/** The part of a text that is processed at all. */
const longestChecked = 16_384;
/** A piece of a secret of this length is taken out, too; a shorter one occurs in any text. */
const pieceLength = 8;
const redacted = '[redacted]';

/** Control characters, and those that are not seen: marks that turn the direction of writing, tags, line separators. */
const unprintable = /[\p{Cc}\p{Cf}\u2028\u2029]+/gu;

export interface Confidence {
  /** Values that must not be repeated. */
  readonly secrets?: readonly string[];
  /** A value that is shorter may be an ordinary word, and stays. */
  readonly shortestSecret?: number;
  readonly longest?: number;
}

/** The part of `text` that may be shown. */
export function foreignText(text: string, confidence: Confidence = {}): string {
  return concealing(confidence)(text);
}

/** `foreignText` for many texts: what follows from the secrets is found out once, when the first text needs it. */
export function concealing(confidence: Confidence = {}): (text: string) => string {
  const { secrets = [], shortestSecret = pieceLength, longest = longestText } = confidence;
  const kept = secrets.filter((secret) => secret.length >= shortestSecret);
  let concealed: Concealed | undefined;
  return (text) => {
    const checked = text.slice(0, longestChecked);
    if (kept.length > 0) concealed ??= concealedOf(kept);
    const clean = oneLine(concealed ? without(checked, concealed) : checked);
    return clean.length > longest ? `${clean.slice(0, longest - 1)}…` : clean;
  };
}

/** All forms of some secrets, in lower case. */
interface Concealed {
  /** The longest first: a shorter one may be the beginning of a longer one. */
  readonly forms: readonly string[];
  /** Those that are too short to have a piece. */
  readonly short: readonly string[];
  /** Where pieces of them stand in a text in lower case. */
  readonly placesIn: (lower: string) => readonly number[];
}

/** A set of the pieces of longer secrets would take more memory than what it is asked for. Those of an answer's key are some hundreds. */
const mostPieces = 250_000;

function concealedOf(secrets: readonly string[]): Concealed {
  const forms = [...new Set(secrets.flatMap(formsOf))].sort((left, right) => right.length - left.length);
  const short = forms.filter((form) => form.length < pieceLength);
  const length = forms.reduce((sum, form) => sum + form.length, 0);
  if (length > mostPieces) return { forms, short, placesIn: (lower) => placesOfEach(lower, forms) };
  const pieces = new Set(forms.flatMap((form) => [...piecesOf(form)]));
  return { forms, short, placesIn: (lower) => placesOf(lower, pieces) };
}

function* piecesOf(text: string): Generator<string> {
  for (let at = 0; at + pieceLength <= text.length; at += 1) yield text.slice(at, at + pieceLength);
}

function placesOf(lower: string, pieces: ReadonlySet<string>): number[] {
  const places: number[] = [];
  for (let at = 0; at + pieceLength <= lower.length; at += 1)
    if (pieces.has(lower.slice(at, at + pieceLength))) places.push(at);
  return places;
}

/** The same, with the pieces of the text in memory instead of those of the forms. */
function placesOfEach(lower: string, forms: readonly string[]): number[] {
  const places = new Map<string, number[]>();
  let place = 0;
  for (const piece of piecesOf(lower)) {
    const known = places.get(piece);
    if (known) known.push(place);
    else places.set(piece, [place]);
    place += 1;
  }
  const found: number[] = [];
  for (const form of forms) {
    for (let at = 0; at + pieceLength <= form.length; at += 1) {
      const piece = form.slice(at, at + pieceLength);
      found.push(...(places.get(piece) ?? []));
      places.delete(piece);
    }
  }
  return found;
}

function without(text: string, { forms, short, placesIn }: Concealed): string {
  const lower = lowerCase(text);
  // Of most texts, nothing is concealed.
  const places = placesIn(lower);
  if (places.length === 0 && !short.some((form) => lower.includes(form))) return text;
  const rest = forms.reduce(withoutForm, text);
  return withoutPlaces(rest, rest === text ? places : placesIn(lowerCase(rest)));
}

/** Without line breaks and whatever else steers a terminal. */
export function oneLine(text: string): string {
  return text.replaceAll(unprintable, ' ').trim();
}

/** In any case of letters; of the same length, unlike `toLowerCase`. */
function lowerCase(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** How programs write a text when they repeat it: as it is, and in JSON, an address, base64 or hex; all in lower case. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret.toWellFormed()),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
    ...withinBase64(bytes),
    bytes.toString('hex'),
    bytes.toString('hex').replaceAll(/../g, '%$&'),
  ].map(lowerCase);
}

/**
 * Base64 takes three bytes at a time, so what stands before a secret moves it: `Bearer KEY` as a whole shares no piece with `KEY`. Only the
 * characters that no neighbour has a part in.
 */
function withinBase64(bytes: Buffer): string[] {
  return [1, 2].flatMap((before) => {
    const shifted = Buffer.concat([Buffer.alloc(before), bytes]);
    const end = Math.floor((shifted.length * 8) / 6);
    return (['base64', 'base64url'] as const).map((form) => shifted.toString(form).slice(before + 1, end));
  });
}

function withoutForm(text: string, form: string): string {
  const lower = lowerCase(text);
  let clean = '';
  let from = 0;
  for (let at = lower.indexOf(form); at !== -1; at = lower.indexOf(form, from)) {
    clean += text.slice(from, at) + redacted;
    from = at + form.length;
  }
  return clean + text.slice(from);
}

/** Without what is left of a secret that was cut or changed. */
function withoutPlaces(text: string, places: readonly number[]): string {
  const isSecret = new Uint8Array(text.length);
  for (const place of places) isSecret.fill(1, place, place + pieceLength);
  let clean = '';
  for (let at = 0; at < text.length; at += 1) {
    if (!isSecret[at]) clean += text[at];
    else if (!isSecret[at - 1]) clean += redacted;
  }
  return clean;
}
