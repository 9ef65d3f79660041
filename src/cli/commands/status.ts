import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { UserError, rfc3339 } from '../../base/index.ts';
import { apiVersion, parseObjectKey } from '../../resources/index.ts';
import { readState, stateFacts, type ObjectRecord, type StateStore } from '../../state/index.ts';
import { isCluster, refuseForeignFlags } from '../cluster.ts';
import { exitCodes, print, type Context } from '../context.ts';
import { outputOption, ownerChoice, stateFile, withFleetFlags, type FleetFlags } from '../options.ts';
import { structured, type OutputFormat } from '../output/output.ts';
import { palette, renderTable, type Palette } from '../output/render.ts';
import { renderDrift } from '../output/render-drift.ts';
import { oneLine } from '../output/terminal-text.ts';
import {
  isMissing,
  managerItem,
  managerLine,
  managerOfFolder,
  type ManagerState,
} from '../status/manager-state.ts';

interface StatusFlags extends FleetFlags {
  readonly output: OutputFormat;
}

/** `status`: what the manager last wrote down; works beside a running one and without the API. */
export function defineStatus(command: Command, context: Context, exit: (code: number) => void): void {
  withFleetFlags(command, 'silent')
    .addOption(outputOption())
    .action(async (flags: StatusFlags) => {
      const { store, manager } = isCluster(flags.source)
        ? await clusterState(context, flags)
        : folderState(context, flags);
      const records = [...store.records()].sort((left, right) => (left.key < right.key ? -1 : 1));
      printStatus(context, flags.output, records, manager);
      if (isMissing(manager)) exit(exitCodes.noManager);
    });
}

interface StateNow {
  readonly store: StateStore;
  readonly manager: ManagerState;
}

function folderState(context: Context, flags: StatusFlags): StateNow {
  refuseForeignFlags(flags.source, flags);
  const file = stateFile(flags);
  if (!existsSync(file)) {
    throw new UserError(
      `there is no state file ${file}`,
      '`fleetkeeper run` or `fleetkeeper apply` creates it; if it is kept elsewhere, name it with --state',
    );
  }
  // The sign first: a manager that stops meanwhile has written all that is read then.
  const manager = managerOfFolder(stateFacts(file), context.hostname, context.clock.wallMs());
  return { store: readState(file, context.random, ownerChoice(flags)), manager };
}

async function clusterState(context: Context, flags: StatusFlags): Promise<StateNow> {
  const { observeOnce } = await import('../fleet-access.ts');
  return observeOnce(context, flags);
}

/** `manager`: for a command that is not itself the one that keeps the state. */
export function printStatus(
  context: Context,
  output: OutputFormat,
  records: readonly ObjectRecord[],
  manager?: ManagerState,
): void {
  if (output !== 'text') return print(context, structured(output, statusList(records, manager)));
  const colours = palette(context.stdout, context.environment);
  if (manager) {
    const paint = isMissing(manager) ? colours.bad : colours.dim;
    print(context, paint(oneLine(managerLine(manager, context.clock.wallMs()))));
  }
  print(context, statusText(records, colours));
}

/** As `kubectl get -o json` prints a list. */
function statusList(records: readonly ObjectRecord[], manager: ManagerState | undefined): object {
  return {
    apiVersion: 'v1',
    kind: 'List',
    ...(manager ? { manager: managerItem(manager) } : {}),
    items: records.map(statusItem),
  };
}

function statusItem(record: ObjectRecord): object {
  const { kind, namespace, name } = parseObjectKey(record.key);
  const { annotations, labels, spec } = record.manifest;
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      namespace,
      uid: record.uid,
      generation: record.generation,
      ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
      ...(Object.keys(labels).length > 0 ? { labels } : {}),
      ...(record.deletionRequestedAt === undefined
        ? {}
        : { deletionTimestamp: rfc3339(record.deletionRequestedAt) }),
    },
    spec,
    status: record.status ?? { observedGeneration: 0, conditions: [] },
  };
}

function statusText(records: readonly ObjectRecord[], colours: Palette): string {
  const drift = renderDrift(records, colours);
  return [statusTable(records, colours), ...(drift ? ['', drift] : [])].join('\n');
}

function statusTable(records: readonly ObjectRecord[], colours: Palette): string {
  if (records.length === 0) return 'No objects.';
  return renderTable(
    ['KIND', 'NAMESPACE', 'NAME', 'STATE', 'READY', 'ENDPOINT', 'MESSAGE'],
    records.map((record) => statusRow(record, colours)),
  );
}

function statusRow(record: ObjectRecord, { good, bad, busy, dim }: Palette): string[] {
  const { kind, namespace, name } = parseObjectKey(record.key);
  const { status } = record;
  const condition = (type: string) => status?.conditions.find((item) => item.type === type);
  const ready = condition('Ready');
  const stalled = condition('Stalled')?.status === 'True';
  const paint = ready?.status === 'True' ? good : stalled ? bad : busy;
  const state = record.deletionRequestedAt === undefined ? text(status?.['state']) : 'Terminating';
  return [
    kind,
    namespace,
    name,
    state,
    paint(ready?.status ?? 'Unknown'),
    text(status?.['endpoint']),
    ready?.status === 'True'
      ? dim(ready.reason)
      : `${ready?.reason ?? 'NotLookedAt'}${ready?.message ? `: ${oneLine(ready.message)}` : ''}`,
  ];
}

function text(value: unknown): string {
  return typeof value === 'string' ? oneLine(value) : '-';
}
