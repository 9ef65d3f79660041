/** What `init` asks on a terminal. */
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { UserError } from '../../base/index.ts';
import type { Context } from '../context.ts';

export function canAsk({ stdin, stdout }: Context): boolean {
  return stdin.isTTY && stdout.isTTY;
}

/** The answer without blanks around it. `isHidden`: what is typed is not shown. Throws a `UserError` after Ctrl-C and Ctrl-D. */
export async function ask(
  { stdin, stdout, stopped }: Context,
  question: string,
  isHidden = false,
): Promise<string> {
  let isMuted = false;
  const output = new Writable({
    write: (chunk, _encoding, done) => {
      if (!isMuted) stdout.write(chunk);
      done();
    },
  });
  const questions = createInterface({ input: stdin, output, terminal: true });
  try {
    const answer = questions.question(question, { signal: stopped });
    isMuted = isHidden;
    return (await answer).trim();
  } catch (error) {
    if ((error as Error).name === 'AbortError') throw new UserError('stopped: nothing was written');
    throw error;
  } finally {
    questions.close();
    if (isHidden) stdout.write('\n');
  }
}
