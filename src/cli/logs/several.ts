/** Logs of several services. One that can't be read is reported, and the others continue. */
import { UserError } from '../../base/index.ts';
import { exitCodes, explainError, type Context } from '../context.ts';
import type { FoundService } from '../account/service-lookup.ts';
import { PrefixedLines } from './prefixes.ts';
import type { SoughtService } from './services.ts';

/** What is known of each of them is kept in memory. */
const mostFollowed = 50;

/** Prints the logs of a service, and then what is new until the process is stopped. Throws a `UserError`. */
export type Print = (service: FoundService, write: (text: string) => void) => Promise<Follow>;
type Follow = (services: number) => Promise<void>;

/**
 * Prints one after the other, in their order, and then follows all at once, if that is wanted. Returns the exit code: 1
 * if any could not be read.
 */
export async function printSeveral(
  context: Context,
  services: readonly SoughtService[],
  { isFollowing }: { readonly isFollowing: boolean },
  print: Print,
): Promise<number> {
  if (isFollowing && services.length > mostFollowed) {
    throw new UserError(
      `${services.length} services are too many to follow at once`,
      `name at most ${mostFollowed}, or select them with -l`,
    );
  }
  const { stopped, unread } = context;
  const lines = new PrefixedLines(
    context,
    services.map(({ label }) => label),
  );
  const follows: [label: string, Follow][] = [];
  let code: number = exitCodes.ok;
  const attempt = async (label: string, work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      if (stopped.aborted) return;
      explainError(context, error);
      code = exitCodes.failed;
    } finally {
      if (!isFollowing) lines.end(label);
    }
  };
  for (const { label, find } of services) {
    if (stopped.aborted || unread.aborted) break;
    await attempt(label, async () => {
      const rest = await print(await find(), (text) => lines.write(label, text));
      follows.push([label, rest]);
    });
  }
  if (isFollowing) {
    await Promise.all(follows.map(([label, rest]) => attempt(label, () => rest(follows.length))));
    for (const [label] of follows) lines.end(label);
  }
  return code;
}
