/** Answers that are not those of the API: of a proxy, a login page, another server. How messages name them. */
import { presentable } from './presentable.ts';
import type { HttpReply } from './transport.ts';

type Reply = HttpReply & { readonly kind: 'reply' };

/** A content type may have any parameters. */
const longestHeader = 80;

/** Why the text of a reply is no JSON, as far as its headers show it. */
export function noJson({ contentType, contentEncoding }: Reply, secrets: readonly string[]): string {
  const shown = (value: string) => presentable(value.slice(0, longestHeader), secrets);
  if (contentEncoding !== undefined && contentEncoding.toLowerCase() !== 'identity') {
    return `its body is compressed (content-encoding ${shown(contentEncoding)}), which was not asked for`;
  }
  const type =
    contentType === undefined ? 'it shows no content type' : `its content type is ${shown(contentType)}`;
  return `its body is no JSON; ${type}`;
}

/** A redirect is not followed: the key is for the configured address alone. Of its target, the host is shown. */
export function redirectTo({ status, location }: Reply, secrets: readonly string[]): string {
  return (
    `status ${status}, a redirect${targetOf(location, secrets)}: it is not followed, ` +
    'because the API key is sent to the configured address only; correct the address if it has moved'
  );
}

function targetOf(location: string | undefined, secrets: readonly string[]): string {
  if (location === undefined) return '';
  if (location.startsWith('/') && !location.startsWith('//')) return ' to another path of the same host';
  const target = URL.parse(location, 'https://unknown.invalid');
  const isNamed = target !== null && target.host !== '' && target.hostname !== 'unknown.invalid';
  return isNamed ? ` to ${presentable(target.host, secrets)}` : '';
}
