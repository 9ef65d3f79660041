/**
 * An engine's message about a launch may repeat its input. Credentials are always removed. Environment values are
 * removed from 4 characters on, because shorter ones ("1", "on") occur in any text.
 */
import type { Launch } from '../../domain/runtime.ts';

const shortestValue = 4;
const longestMessage = 1000;

export function withoutSecrets(message: string, { credentials, environment }: Launch): string {
  const { username = '', password = '' } = credentials?.reveal() ?? {};
  const values = Object.values(environment.reveal()).filter((value) => value.length >= shortestValue);
  const secrets = [username, password, ...values].filter((secret) => secret !== '');
  const forms = secrets.flatMap((secret) => [
    secret,
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
  ]);
  // The longest first: a secret may be a part of another.
  const text = forms
    .toSorted((left, right) => right.length - left.length)
    .reduce((rest, form) => rest.replaceAll(form, '[redacted]'), message);
  return text.length > longestMessage ? `${text.slice(0, longestMessage)}…` : text;
}
