/** Texts of the server go into status and logs: bounded, on one line, and without what we sent in secret. */
const longestErrorText = 500;
/** Shorter values would blot out ordinary words. */
const shortestSecret = 4;

interface Carrier {
  readonly environment?: object;
  readonly patch?: { readonly environment?: object };
  readonly username?: string;
  readonly password?: string;
  readonly spec?: { readonly username?: string; readonly password?: string };
}

/** What a server may echo in an error text although it must never be shown. */
export function secretsOf(body: unknown): string[] {
  const { environment, patch, spec, username, password } = (body ?? {}) as Carrier;
  const credentials = [username, password, spec?.username, spec?.password];
  return [...Object.values(environment ?? patch?.environment ?? {}), ...credentials]
    .filter((value) => value !== undefined)
    .map(String);
}

export function presentable(text: string, secrets: readonly string[]): string {
  let clean = text;
  // The longest first: a shorter one may be the beginning of a longer one.
  for (const secret of [...secrets].sort((left, right) => right.length - left.length)) {
    if (secret.length >= shortestSecret) clean = clean.replaceAll(secret, '[redacted]');
  }
  // oxlint-disable-next-line no-control-regex -- control characters are what is removed
  return clean.replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').slice(0, longestErrorText);
}
