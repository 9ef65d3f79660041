import { describeOutcome } from '../../api/index.ts';
import { UserError, sleep } from '../../base/index.ts';
import { complain, type Context } from '../context.ts';
import { newPart } from '../output/log-text.ts';
import type { FoundService } from '../account/service-lookup.ts';

/** From the end of one read to the next one. */
const pauseMs = 2000;
/** Of all reads together: the manager needs the account, too. */
const readsPerSecond = 2;

/**
 * Gives `write` what is new, until the process is stopped. `before`: what is known already. `services`: so many are followed at once.
 * A failed read is reported once and tried again: the next one brings what was missed. Throws a `UserError` when the
 * service is gone.
 */
export async function follow(
  context: Context,
  { account, id, label }: FoundService,
  before: string,
  write: (text: string) => void,
  services = 1,
): Promise<void> {
  const { clock, stopped, unread } = context;
  let known = before;
  let trouble = '';
  for (;;) {
    await sleep(clock, Math.max(pauseMs, (services * 1000) / readsPerSecond), stopped);
    // With `| head` there is nobody to go on for.
    if (stopped.aborted || unread.aborted) return;
    const outcome = await account.api.logs(id, stopped);
    if (outcome.kind === 'applied') {
      const text = newPart(known, outcome.value);
      if (text !== '') write(text);
      known = outcome.value;
      trouble = '';
      continue;
    }
    if (stopped.aborted) return;
    if (outcome.kind === 'refused' && outcome.status === 404) {
      throw new UserError(`${label} is gone`, '`fleetkeeper status` shows its state');
    }
    const message = describeOutcome(outcome);
    if (message !== trouble) complain(context, `can't read the logs of ${label} now: ${message}`);
    trouble = message;
  }
}
