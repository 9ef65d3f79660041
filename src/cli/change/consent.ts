/** A person's yes to a plan. */
import { createInterface } from 'node:readline/promises';
import type { FleetPlan } from '../../manager/index.ts';
import { complain, type Context } from '../context.ts';
import { words, type OneShotCommand } from './words.ts';

export async function consented(
  context: Context,
  { yes }: { readonly yes?: boolean },
  command: OneShotCommand,
  plan: FleetPlan,
): Promise<boolean> {
  const { question, unasked, declined } = words[command];
  // What is held now may be carried out as soon as nothing holds it any more.
  const asksForNothing = plan.changes.length === 0 && plan.held.every(({ actions }) => actions.length === 0);
  if (yes || asksForNothing) return true;
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
