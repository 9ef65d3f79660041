/** The header that carries the API key, where it is not `Authorization` (§5: "Header used to carry the identity-provider token: not shown"). */
import { z } from 'zod';
import { constrained } from '../../resources/parts/constraints.ts';

const token = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
/** Of the connection, of the request's frame and meaning, and what a proxy or a browser reads. */
const reserved = [
  'accept',
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'cookie',
  'cookie2',
  'date',
  'expect',
  'forwarded',
  'host',
  'idempotency-key',
  'keep-alive',
  'origin',
  'proxy-[A-Za-z-]*',
  'range',
  'referer',
  'sec-[A-Za-z-]*',
  'set-cookie',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
  'via',
  'x-forwarded-[A-Za-z-]*',
].join('|');
const isReserved = new RegExp(`^(?:${reserved})$`, 'i');
/** JSON Schema knows no flags. */
const inAnyCase = reserved.replaceAll(/\[[^\]]*\]|[a-z]/g, (part) =>
  part.length > 1 ? part : `[${part.toUpperCase()}${part}]`,
);

const messages = {
  token: 'must be the name of a header, such as X-Api-Key',
  reserved: 'has a meaning of its own in HTTP or in this API, and can not carry a key',
} as const;

/** Why `name` can't be the header, or undefined when it can. */
export function credentialsHeaderProblem(name: string): string | undefined {
  if (!token.test(name) || name.length > 128) return messages.token;
  return isReserved.test(name) ? messages.reserved : undefined;
}

export const credentialsHeader = constrained(
  z.string().min(1).max(128),
  {
    holds: (name) => token.test(name),
    rule: `self.matches("^[A-Za-z0-9!#$%&'*+.^_\`|~-]+$")`,
    schema: (errorMessage) => ({ pattern: token.source, errorMessage }),
    message: messages.token,
  },
  {
    holds: (name) => !isReserved.test(name),
    rule: `!self.matches('^(?i:${reserved})$')`,
    schema: (errorMessage) => ({ pattern: `^(?!(?:${inAnyCase})$)`, errorMessage }),
    message: messages.reserved,
  },
)
  .optional()
  .describe(
    'The header that carries the API key; default Authorization, as `Bearer KEY`. In any other one the key stands as it is.',
  );
