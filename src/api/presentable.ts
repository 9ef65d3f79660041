/** The message of a refusal for status and logs, without the secrets that the request carried. */
import { foreignText } from '../base/index.ts';

/** Shorter values would remove ordinary text. */
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
  return foreignText(text, { secrets, shortestSecret });
}
