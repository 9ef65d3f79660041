/**
 * Who may read. A request is let in, or denied for one of these reasons:
 *
 * | reason        | status | when                                                                    |
 * |---------------|--------|-------------------------------------------------------------------------|
 * | `host`        | 421    | `Host` is not one of this server: DNS rebinding reaches loopback, too   |
 * | `missing`     | 401    | no token was sent                                                       |
 * | `invalid`     | 401    | the token is not valid, or not any more                                 |
 * | `unavailable` | 503    | the identity provider or the file can't be asked, so nobody knows       |
 *
 * A token that is valid and matches no entry of the access file sees nothing: empty lists, and 404 for single objects.
 */
import { Refused, type ApiRequest } from '../message.ts';
import { readsAll, type Reader } from '../fleet/reader.ts';

export type Denial = 'host' | 'missing' | 'invalid' | 'unavailable';

export class Denied extends Refused {
  readonly reason: Denial;

  constructor(status: number, code: string, message: string, reason: Denial) {
    super(status, code, message, status === 401 ? { 'www-authenticate': 'Bearer realm="fleetkeeper"' } : {});
    this.reason = reason;
  }
}

/** Where the tokens that are accepted come from. */
export type TokenKind = 'token-file' | 'kubernetes' | 'oidc';

export interface Access {
  /** Who is denied is shown them. None: nothing is asked. */
  readonly kinds?: readonly TokenKind[];
  /** Throws a `Denied`. */
  reader(request: ApiRequest): Promise<Reader>;
  /** For the form: whether the token is valid. Undefined: there are no tokens to enter. */
  accepts?(token: string): boolean | Promise<boolean>;
}

/** On loopback nothing is asked, unless a flag asks for it. */
export const open: Access = { reader: async () => readsAll };

/** The bearer token. */
export function tokenIn({ headers }: Pick<ApiRequest, 'headers'>): string | undefined {
  return /^Bearer +(\S+)$/i.exec(headers['authorization'] ?? '')?.[1];
}

export function missing(): Denied {
  return new Denied(401, 'unauthenticated', 'send a token: Authorization: Bearer TOKEN', 'missing');
}

export function invalid(): Denied {
  return new Denied(401, 'unauthenticated', 'the token is not valid; ask for another one', 'invalid');
}

export function unavailable(message: string): Denied {
  return new Denied(503, 'unavailable', message, 'unavailable');
}

/** The first one that lets the request in; what is missing everywhere is missing. */
export function anyOf(accesses: readonly Access[]): Access {
  const accepts = accesses.flatMap((access) => (access.accepts ? [access.accepts.bind(access)] : []));
  return {
    async reader(request) {
      let denied = missing();
      for (const access of accesses) {
        try {
          // oxlint-disable-next-line no-await-in-loop -- the first one that knows the token decides
          return await access.reader(request);
        } catch (error) {
          if (!(error instanceof Denied)) throw error;
          if (error.reason !== 'missing') denied = error;
        }
      }
      throw denied;
    },
    kinds: accesses.flatMap(({ kinds = [] }) => kinds),
    ...(accepts.length === 0 ? {} : { accepts: (token: string) => anyAccepts(accepts, token) }),
  };
}

/** Where one of them can't be asked, the others still are. */
async function anyAccepts(
  accepts: readonly NonNullable<Access['accepts']>[],
  token: string,
): Promise<boolean> {
  let unavailableOne: unknown;
  for (const accept of accepts) {
    try {
      // oxlint-disable-next-line no-await-in-loop -- the first one that knows the token decides
      if (await accept(token)) return true;
    } catch (error) {
      if (!(error instanceof Denied)) throw error;
      unavailableOne ??= error;
    }
  }
  if (unavailableOne !== undefined) throw unavailableOne;
  return false;
}
