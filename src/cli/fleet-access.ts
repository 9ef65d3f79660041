/** Read access to a fleet: a folder and its state file, or a cluster. Nothing is written to either. */
import { digestKey } from '../base/index.ts';
import { createClusterSource, type DesiredSnapshot, type DesiredSource } from '../desired/index.ts';
import { watchedByStore } from '../manager/index.ts';
import { Admission, oneShotGrace } from '../engine/index.ts';
import { ClusterStore, readClusterIdentity, readState, type StateStore } from '../state/index.ts';
import { createLogger, createMetrics } from '../telemetry/index.ts';
import { connectCluster, isCluster, refuseForeignFlags, type ClusterFlags } from './cluster.ts';
import type { Context } from './context.ts';
import { fleetIdentity } from './digest-key.ts';
import { stateFile } from './options.ts';
import { openSource } from './source.ts';

/** A cluster that can't be listed within that time is reported as an error. */
const answerMs = 30_000;

export interface FleetFlagsOf extends ClusterFlags {
  readonly source: string;
  readonly state?: string;
  readonly owner?: string;
  readonly digestKeyFile?: string;
}

export interface FleetAccess {
  /** Started by whoever uses it. */
  readonly source: DesiredSource;
  /** As last written down; what is saved stays in memory. */
  readonly store: StateStore;
  /** After the source was stopped. */
  close(): Promise<void>;
}

export async function readFleet(context: Context, flags: FleetFlagsOf): Promise<FleetAccess> {
  refuseForeignFlags(flags.source, flags);
  if (isCluster(flags.source)) return readCluster(context, flags);
  const file = stateFile(flags);
  return {
    source: openSource(flags, context, false),
    store: readState(file, context.random, await fleetIdentity(context, flags, file)),
    close: async () => undefined,
  };
}

/** Source and state as they are now. */
export async function observeOnce(
  context: Context,
  flags: FleetFlagsOf,
): Promise<{ readonly snapshot: DesiredSnapshot; readonly store: StateStore }> {
  const access = await readFleet(context, flags);
  const { source, store } = access;
  try {
    const snapshot = await source.start(() => undefined);
    if (isCluster(flags.source)) {
      const { clock } = context;
      const admission = new Admission({ store, clock, grace: oneShotGrace, massChangeAllowed: () => true });
      await admission.admit(snapshot).durable;
    }
    return { snapshot, store };
  } finally {
    await source.stop();
    await access.close();
  }
}

async function readCluster(context: Context, flags: FleetFlagsOf): Promise<FleetAccess> {
  const { clock, random } = context;
  const metrics = createMetrics();
  const api = await connectCluster(context, flags, metrics);
  const known = await readClusterIdentity({ api, owner: flags.owner });
  const identity = known ?? { ownerName: flags.owner ?? '', digestKey: digestKey(random.bytes(32)) };
  const store = new ClusterStore({ api: undefined, identity, clock, random });
  const { watchNamespaces: namespaces = [], shard } = flags;
  const logger = createLogger('silent');
  const source = createClusterSource({
    api,
    namespaces,
    shard,
    giveUpAfterMs: answerMs,
    clock,
    random,
    logger,
    metrics,
  });
  return {
    source: watchedByStore({ source, store, onNoticed: () => undefined }),
    store,
    close: () => api.close(),
  };
}
