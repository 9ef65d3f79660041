/**
 * A failure that a person can correct: `message` states what was attempted and what was found, `remedy` what to do.
 * Printed without a stack.
 */
export class UserError extends Error {
  override readonly name = 'UserError';
  readonly remedy: string | undefined;

  constructor(message: string, remedy?: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.remedy = remedy;
  }
}

/** The text of anything thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Why nothing can be served at an address. */
export function notListening(
  { host, port }: { readonly host: string; readonly port: number },
  error: unknown,
): UserError {
  return new UserError(
    `can't listen on ${host.includes(':') ? `[${host}]` : host}:${port}: ${messageOf(error)}`,
    'name an address of this machine, and a port that nobody else has; port 0 takes a free one',
    error,
  );
}
