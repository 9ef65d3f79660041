/**
 * Web addresses from a provider. A click in a terminal opens them, so anything but a plain http or https address is
 * rejected.
 */

const hostOnly =
  /^(localhost|[a-z0-9-]+(\.[a-z0-9-]+)+|\[[0-9a-f:.]+\])(:\d{1,5})?(\/[^\s\p{Cc}\p{Cf}]*)?$/iu;

/** Http or https, without a user before the host; `bare`: or a host without a scheme. */
export function isWebAddress(text: string, bare: 'bare' | 'whole'): boolean {
  if (/[\s\p{Cc}\p{Cf}]/u.test(text)) return false;
  if (bare === 'bare' && hostOnly.test(text)) return true;
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username === '' && password === '';
}
