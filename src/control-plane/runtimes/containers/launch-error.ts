import type { Logger } from 'pino';
import type { RuntimeRequest } from '../../domain/runtime.ts';
import { withoutSecrets } from './redaction.ts';
import { sentenceOf, type LaunchReason } from './reasons.ts';

interface Sentence {
  readonly text: string;
  /** What was launched has ended, and stays for its logs. */
  readonly isKept?: boolean;
}

/**
 * What the owner of the service or volume has to correct. `detail`: the own message of the engine or cluster, which only
 * the operator sees.
 */
export class LaunchError extends Error {
  override readonly name = 'LaunchError';
  readonly detail: string | undefined;
  readonly isKept: boolean;

  constructor(reason: LaunchReason | Sentence, detail?: string) {
    super(typeof reason === 'string' ? sentenceOf(reason) : reason.text);
    this.detail = detail;
    this.isKept = typeof reason === 'object' && reason.isKept === true;
  }
}

/** What the tenant learns. The detail is logged with the id of the operation, which both have. */
export function textOfError(
  { message, detail }: LaunchError,
  request: RuntimeRequest,
  logger: Logger,
): string {
  if (detail === undefined) return message;
  const { id: operation, subjectId: subject } = request;
  const shown = 'launch' in request ? withoutSecrets(detail, request.launch) : detail;
  logger.warn({ subject, operation, reason: message, detail: shown }, 'a request of a tenant was refused');
  return `${message} (operation ${operation})`;
}
