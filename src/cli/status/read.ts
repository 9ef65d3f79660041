/** Reads what `status` and `describe` show. */
import { UserError } from '../../base/index.ts';
import {
  hasStateFile,
  readState,
  stateFacts,
  type ObjectRecord,
  type StateStore,
} from '../../state/index.ts';
import { isCluster } from '../cluster.ts';
import type { Context } from '../context.ts';
import { ownerChoice, stateFile, type FleetFlags } from '../options.ts';
import { statusEntries, type StatusEntry } from '../../shown/entries.ts';
import { withoutHeartbeats } from '../../shown/heartbeats.ts';
import { managerOfFolder, type ManagerState } from '../../shown/manager-state.ts';

export interface EntriesNow {
  readonly entries: readonly StatusEntry[];
  readonly store: StateStore;
  readonly manager: ManagerState;
  /** As they were written down, whoever sends heartbeats since. */
  readonly recorded: readonly StatusEntry[];
  /** Of a folder: when the state file was last written, in Unix milliseconds. */
  readonly writtenAt?: number | undefined;
}

/** What was last written down, in a folder's state file or in the objects of a cluster. `before`: what was read last. */
export async function readEntries(
  context: Context,
  flags: FleetFlags,
  before?: EntriesNow,
): Promise<EntriesNow> {
  if (isCluster(flags.source)) {
    const { observeOnce } = await import('../fleet-access.ts');
    const { store, snapshot, manager } = await observeOnce(context, flags);
    const createdAt = (key: ObjectRecord['key']) => snapshot.cluster?.get(key)?.createdAt;
    const recorded = statusEntries(store.records(), createdAt);
    return {
      entries: withoutHeartbeats(recorded, manager, undefined, context.clock.wallMs()),
      recorded,
      store,
      manager,
    };
  }
  const file = stateFile(flags);
  if (!hasStateFile(file)) {
    throw new UserError(
      `there is no state file ${file}`,
      '`fleetkeeper run` or `fleetkeeper apply` creates it; if it is kept elsewhere, name it with --state',
    );
  }
  // The sign first: a manager that stops meanwhile has written all that is read then.
  const facts = stateFacts(file);
  const { writtenAt } = facts;
  const nowMs = context.clock.wallMs();
  const manager = managerOfFolder(facts, context.hostname, nowMs);
  // Two writes may have the same time, so what was just written is read again.
  const isSame =
    before?.writtenAt !== undefined && before.writtenAt === writtenAt && nowMs - writtenAt > justMs;
  const seen = (recorded: readonly StatusEntry[]) =>
    withoutHeartbeats(recorded, manager, facts.sign?.heartbeats, nowMs);
  if (isSame) return { ...before, entries: seen(before.recorded), manager };
  const store = readState(file, context.random, ownerChoice(flags));
  const recorded = statusEntries(store.records());
  return { entries: seen(recorded), recorded, store, manager, writtenAt };
}

const justMs = 5000;
