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
  const { secrets = [], shortestSecret = pieceLength, longest = longestText } = confidence;
  const forms = secrets.filter((secret) => secret.length >= shortestSecret).flatMap(formsOf);
  const checked = text.slice(0, longestChecked);
  const clean = oneLine(forms.length === 0 ? checked : withoutPieces(withoutWhole(checked, forms), forms));
  return clean.length > longest ? `${clean.slice(0, longest - 1)}…` : clean;
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

/** The longest first: a shorter one may be the beginning of a longer one. */
function withoutWhole(text: string, forms: readonly string[]): string {
  return [...new Set(forms)]
    .sort((left, right) => right.length - left.length)
    .reduce((clean, form) => withoutForm(clean, form), text);
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
function withoutPieces(text: string, forms: readonly string[]): string {
  const places = new Map<string, number[]>();
  const lower = lowerCase(text);
  for (let at = 0; at + pieceLength <= text.length; at += 1) {
    const piece = lower.slice(at, at + pieceLength);
    const known = places.get(piece);
    if (known) known.push(at);
    else places.set(piece, [at]);
  }
  const isSecret = new Uint8Array(text.length);
  for (const form of forms) {
    for (let at = 0; at + pieceLength <= form.length; at += 1) {
      const piece = form.slice(at, at + pieceLength);
      for (const place of places.get(piece) ?? []) isSecret.fill(1, place, place + pieceLength);
      places.delete(piece);
    }
  }
  let clean = '';
  for (let at = 0; at < text.length; at += 1) {
    if (!isSecret[at]) clean += text[at];
    else if (!isSecret[at - 1]) clean += redacted;
  }
  return clean;
}
