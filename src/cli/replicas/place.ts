/** Where people leave what the manager is to do beside the documents, and what the manager has written there. */
import { UserError } from '../../base/index.ts';
import { annotations, parseObjectKey, resourceTypes, type ObjectKey } from '../../resources/index.ts';
import {
  hasStateFile,
  leaveCommand,
  leaveResolution,
  readState,
  writeResolution,
  type Resolution,
  type StateStore,
} from '../../state/index.ts';
import { createMetrics } from '../../telemetry/index.ts';
import { connectCluster, isCluster } from '../cluster.ts';
import type { Context } from '../context.ts';
import { ownerChoice, stateFile, type FleetFlags } from '../options.ts';

/** A state file, or the annotations of objects in a cluster. */
export interface Place {
  readonly store: StateStore;
  leaveCommand(key: ObjectKey, text: string): Promise<void>;
  leaveResolution(key: ObjectKey, resolution: Resolution): Promise<void>;
}

export async function openPlace(context: Context, flags: FleetFlags): Promise<Place> {
  return isCluster(flags.source) ? inCluster(context, flags) : inFile(context, flags);
}

function inFile(context: Context, flags: FleetFlags): Place {
  const file = stateFile(flags);
  if (!hasStateFile(file)) {
    throw new UserError(
      `there is no state file ${file}`,
      'nothing was applied from this source yet; if the state is kept elsewhere, name it with --state',
    );
  }
  return {
    store: readState(file, context.random, ownerChoice(flags)),
    leaveCommand: async (key, text) => leaveCommand(file, key, text),
    leaveResolution: async (key, resolution) => leaveResolution(file, key, resolution),
  };
}

async function inCluster(context: Context, flags: FleetFlags): Promise<Place> {
  const { observeOnce } = await import('../fleet-access.ts');
  const { store } = await observeOnce(context, flags);
  const annotate = async (key: ObjectKey, given: Readonly<Record<string, string>>): Promise<void> => {
    const api = await connectCluster(context, flags, createMetrics());
    const { kind, namespace, name } = parseObjectKey(key);
    const target = { type: resourceTypes[kind], namespace, name };
    try {
      await api.patch(target, { kind: 'merge', body: { metadata: { annotations: given } } });
    } finally {
      await api.close();
    }
  };
  return {
    store,
    leaveCommand: (key, text) => annotate(key, { [annotations.command]: text }),
    leaveResolution: (key, resolution) =>
      annotate(key, { [annotations.resolve]: writeResolution(resolution) }),
  };
}
