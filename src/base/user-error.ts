/**
 * A failure that a person can mend: `message` says what was attempted and what was found, `remedy` what to
 * do. Printed without a stack.
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
