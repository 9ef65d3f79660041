/** What all responses of a page have: a policy under which nothing but its own files runs, and tags for what a reader has already. */
import { createHash } from 'node:crypto';

export const pageHeaders: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
    "frame-ancestors 'none'; form-action 'self'; base-uri 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};

export function etagOf(body: string | Buffer): string {
  return `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`;
}

/** Whether the reader has it. `ifNoneMatch`: the header. */
export function hasETag(ifNoneMatch: string | undefined, etag: string): boolean {
  return (ifNoneMatch ?? '').split(',').some((one) => {
    const mark = one.trim().replace(/^W\//, '');
    return mark === etag || mark === '*';
  });
}
