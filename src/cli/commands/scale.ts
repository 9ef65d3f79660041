import { InvalidArgumentError, Option, type Command } from 'commander';
import { UserError, rfc3339 } from '../../base/index.ts';
import { commandText, parseObjectKey, resourceTypes } from '../../resources/index.ts';
import { createMetrics } from '../../telemetry/index.ts';
import { connectCluster, isCluster, withHiddenShard } from '../cluster.ts';
import { print, type Context } from '../context.ts';
import { observeOnce } from '../fleet-access.ts';
import { needed, outputOption, parseDuration, withFleetFlags } from '../options.ts';
import { structured } from '../output/output.ts';
import { isEdited } from '../replicas/edited.ts';
import { findFleet, type FoundFleet } from '../replicas/fleets.ts';
import { give, type CommandFlags } from '../replicas/give.ts';
import { openPlace } from '../replicas/place.ts';

interface ScaleFlags extends CommandFlags {
  readonly replicas: number;
  readonly for?: number;
}

const mostReplicas = 1000;

/** `scale`: a number of replicas by hand, which the document does not have. */
export function defineScale(command: Command, context: Context): void {
  const replicas = new Option('--replicas <n>', 'how many replicas').argParser(parseReplicas);
  withHiddenShard(withFleetFlags(needed(command, replicas), 'silent'))
    .argument('<fleet>', 'name of the ServiceFleet')
    .addOption(
      new Option(
        '--for <duration>',
        'for so long; then the document counts again; default: until its `replicas` is edited',
      ).argParser(parseDuration),
    )
    .option('-n, --namespace <name>', 'of the fleet', 'default')
    .addOption(outputOption())
    .action((name: string, flags: ScaleFlags) =>
      isCluster(flags.source) ? inCluster(context, name, flags) : inFolder(context, name, flags),
    );
}

async function inFolder(context: Context, name: string, flags: ScaleFlags): Promise<void> {
  const place = await openPlace(context, flags);
  const fleet = findFleet(place.store, name, flags.namespace);
  await refuseEdited(context, fleet, flags);
  const { replicas } = flags;
  const untilMs = flags.for === undefined ? undefined : context.clock.wallMs() + flags.for;
  const until = untilMs === undefined ? undefined : rfc3339(Math.ceil(untilMs / 1000) * 1000);
  const argument = until === undefined ? String(replicas) : `${replicas}:${until}`;
  const text = commandText('scale', argument, `g${fleet.record.generation}`);
  const end = until === undefined ? 'until `replicas` of the document is edited' : `until ${until}`;
  const what = `${fleet.name} gets ${replicas} replicas ${end}${limitText(fleet, replicas)}`;
  await give(context, flags, place, fleet, { text, what });
}

function limitText({ spec: { minReplicas, maxReplicas } }: FoundFleet, replicas: number): string {
  if (replicas > maxReplicas) return `, of which \`maxReplicas\` allows ${maxReplicas}`;
  return replicas < minReplicas ? `, but \`minReplicas\` keeps ${minReplicas}` : '';
}

/** The command names the document that the manager knows. A newer one would make it outdated. */
async function refuseEdited(context: Context, fleet: FoundFleet, flags: ScaleFlags): Promise<void> {
  const edited = await isEdited(context, fleet, flags);
  if (edited === 'as known') return;
  throw edited === 'edited'
    ? new UserError(
        `the document of ${fleet.name} was edited, and is not applied yet`,
        `write \`replicas: ${flags.replicas}\` there, or apply it first`,
      )
    : new UserError(
        `there is no usable document of ${fleet.name} in ${flags.source}`,
        `\`${context.command} plan\` shows what is wrong`,
      );
}

async function inCluster(context: Context, name: string, flags: ScaleFlags): Promise<void> {
  if (flags.for !== undefined) {
    throw new UserError(
      '--for is for folders: in a cluster the number stays until somebody changes it',
      'write a schedule, or leave --for out',
    );
  }
  const { store } = await observeOnce(context, flags);
  const fleet = findFleet(store, name, flags.namespace);
  const { kind, namespace } = parseObjectKey(fleet.key);
  const api = await connectCluster(context, flags, createMetrics());
  const target = { type: resourceTypes[kind], namespace, name: fleet.name };
  const body = { spec: { replicas: flags.replicas } };
  try {
    await api.patch(target, { kind: 'merge', body, subresource: 'scale' });
  } finally {
    await api.close();
  }
  if (flags.output === 'text') return print(context, `${fleet.name} gets ${flags.replicas} replicas.`);
  print(context, structured(flags.output, { object: fleet.key, replicas: flags.replicas }));
}

function parseReplicas(text: string): number {
  const count = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (count <= mostReplicas) return count;
  throw new InvalidArgumentError(`expected a whole number from 0 to ${mostReplicas}`);
}
