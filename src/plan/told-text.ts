/** Texts of the provider are data: of one line, bounded, without our secrets and without anything that a terminal obeys. */

/** Control characters, and those that turn the direction of writing. */
// oxlint-disable-next-line no-control-regex -- they are what is removed
const unprintable = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]+/g;
/** Shorter values occur in any text. */
const shortestSecret = 8;
const longestText = 500;

/** `secrets`: values that must not be repeated. */
export function toldText(text: string, secrets: readonly string[] = [], longest = longestText): string {
  const clean = secrets
    .filter((secret) => secret.length >= shortestSecret)
    .toSorted((left, right) => right.length - left.length)
    .reduce((left, secret) => left.replaceAll(secret, '[redacted]'), text)
    .replaceAll(unprintable, ' ')
    .trim();
  return clean.length > longest ? `${clean.slice(0, longest - 1)}…` : clean;
}
