import { Option, type Command } from 'commander';
import { endpointsOf, prometheusTargets } from '../../kinds/index.ts';
import { parseObjectKey } from '../../resources/index.ts';
import { withHiddenShard } from '../cluster.ts';
import { print, type Context } from '../context.ts';
import { withFleetFlags, type FleetFlags } from '../options.ts';
import { outputFormats, structured, type OutputFormat } from '../output/output.ts';
import { renderTable } from '../output/render.ts';
import { oneLine } from '../output/terminal-text.ts';
import { findFleet } from '../replicas/fleets.ts';
import { openPlace } from '../replicas/place.ts';

interface EndpointsFlags extends FleetFlags {
  readonly namespace: string;
  readonly output: OutputFormat | 'prometheus';
}

/** `endpoints`: where the replicas of a fleet can be reached, as the manager last wrote it. */
export function defineEndpoints(command: Command, context: Context): void {
  withHiddenShard(withFleetFlags(command, 'silent'))
    .argument('<fleet>', 'name of the ServiceFleet')
    .option('-n, --namespace <name>', 'of the fleet', 'default')
    .addOption(
      new Option(
        '-o, --output <format>',
        'text for people, json and yaml for programs, prometheus for its file and HTTP service discovery',
      )
        .choices([...outputFormats, 'prometheus'])
        .default('text'),
    )
    .action(async (text: string, flags: EndpointsFlags) => {
      const { store } = await openPlace(context, flags);
      const { key } = findFleet(store, text, flags.namespace);
      const endpoints = endpointsOf(store, key, context.clock.wallMs()) ?? [];
      const { namespace, name } = parseObjectKey(key);
      const { output } = flags;
      if (output === 'prometheus')
        return print(context, structured('json', prometheusTargets(key, endpoints)));
      if (output !== 'text') return print(context, structured(output, { namespace, name, endpoints }));
      if (endpoints.length === 0) return print(context, 'No endpoints.');
      const rows = endpoints.map(({ slot, url, ready, revision = '-' }) => [
        `${name}-${slot}`,
        ready ? 'True' : 'False',
        revision,
        oneLine(url),
      ]);
      print(context, renderTable(['REPLICA', 'READY', 'REVISION', 'URL'], rows));
    });
}
