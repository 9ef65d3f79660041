/** A person's yes to a plan. */
import { createInterface } from 'node:readline/promises';
import type { FleetPlan, Held } from '../../manager/index.ts';
import { reasons } from '../../reasons/index.ts';
import { complain, type Context } from '../context.ts';
import { words, type OneShotCommand } from './words.ts';

export async function consented(
  context: Context,
  { yes }: { readonly yes?: boolean },
  command: OneShotCommand,
  plan: FleetPlan,
): Promise<boolean> {
  const { question, unasked, declined } = words[command];
  if (yes || asksForNothing(plan)) return true;
  if (!context.stdin.isTTY || !context.stdout.isTTY) {
    complain(context, unasked);
    return false;
  }
  const questions = createInterface({ input: context.stdin, output: context.stdout });
  try {
    const answer = await questions.question(`${question}? Only "yes" is accepted: `, {
      signal: context.stopped,
    });
    if (answer.trim() === 'yes') return true;
  } catch (error) {
    // Ctrl-C and Ctrl-D are a no.
    if ((error as Error).name !== 'AbortError') throw error;
  } finally {
    questions.close();
  }
  complain(context, declined);
  return false;
}

/** Nothing is sent, neither now nor when what is waited for is there. */
function asksForNothing({ changes, held, unclear }: FleetPlan): boolean {
  return changes.length === 0 && unclear.length === 0 && !held.some(mayFollow);
}

function mayFollow(held: Held): boolean {
  return held.actions.length > 0 || followsWait(held);
}

/** A wait for the provider has differences without actions: what is done about them is known after it. */
export function followsWait({ actions, differences, reason }: Held): boolean {
  return actions.length === 0 && differences.length > 0 && reasons[reason].kind === 'waiting';
}
