/** What must not be told, in each form in which it may be. */
import { canary } from './documents.ts';
import { operatorsKey, ourKey } from './plane.ts';

/** Base64 of whatever has the secret in it, at whichever of the three places of a group it begins. */
function base64Forms(secret: string): string[] {
  return [0, 1, 2].map((start) => {
    const groups = Math.floor((secret.length - start) / 3);
    return Buffer.from(secret.slice(start, start + 3 * groups)).toString('base64');
  });
}

const secrets = [canary, ourKey, operatorsKey];
const forms = [
  ...secrets,
  ...secrets.map((secret) => Buffer.from(secret).toString('hex')),
  ...secrets.flatMap(base64Forms),
];
const pattern = new RegExp(forms.map((form) => form.replaceAll(/[+/]/g, String.raw`\$&`)).join('|'));

/** What stands around the first secret in a text. */
export function secretIn(text: string): string | undefined {
  const at = text.search(pattern);
  return at === -1 ? undefined : text.slice(Math.max(0, at - 200), at + 100);
}
