/** The newest mutation of an object, as its status shows it. */
import type { IntentOutcome } from './records.ts';

export interface LastMutation {
  readonly action: string;
  readonly idempotencyKey: string;
  /** RFC 3339. */
  readonly at: string;
  readonly outcome: IntentOutcome;
  readonly reason?: string;
  readonly askedBy?: string;
}
