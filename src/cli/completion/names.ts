import { readFolder } from '../../desired/index.ts';
import { readState } from '../../state/index.ts';
import type { Context } from '../context.ts';
import { ownerChoice, stateFile } from '../options.ts';
import { serviceNames } from '../service-lookup.ts';

/** A folder that can't be read has no names to offer; saying so would only disturb the line. */
export async function namesIn(
  { random }: Context,
  flags: ReadonlyMap<string, string>,
): Promise<readonly string[]> {
  try {
    const source = flags.get('--source') ?? '';
    const state = flags.get('--state');
    const file = stateFile({ source, ...(state === undefined ? {} : { state }) });
    const store = readState(file, random, ownerChoice({ source }));
    const snapshot = await readFolder(source);
    return serviceNames({ snapshot, store }, flags.get('--namespace') ?? 'default');
  } catch {
    return [];
  }
}
