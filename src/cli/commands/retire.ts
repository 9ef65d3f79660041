import type { Command } from 'commander';
import { uidMark } from '../../kinds/service-fleet/schema-commands.ts';
import { commandText } from '../../resources/index.ts';
import { withHiddenShard } from '../cluster.ts';
import { print, type Context } from '../context.ts';
import { outputOption, withFleetFlags } from '../options.ts';
import { structured } from '../output/output.ts';
import { findReplica } from '../replicas/fleets.ts';
import { give, type CommandFlags } from '../replicas/give.ts';
import { openPlace } from '../replicas/place.ts';

/** `retire`: one replica drains and is removed. */
export function defineRetire(command: Command, context: Context): void {
  withHiddenShard(withFleetFlags(command, 'silent'))
    .argument('<replica>', 'the replica, as NAME-SLOT, for example llm-3')
    .option('-n, --namespace <name>', 'of the fleet', 'default')
    .addOption(outputOption())
    .action(async (name: string, flags: CommandFlags) => {
      const place = await openPlace(context, flags);
      const replica = findReplica(place.store, name, flags.namespace);
      const { fleet, entry, uid } = replica;
      const text = commandText('retire', String(entry.slot), uidMark(uid));
      if (entry.phase === 'retiring') {
        const answer = { object: fleet.key, command: text, given: false, replaced: null };
        const done = `Unchanged: ${replica.name} is being deleted already.`;
        return print(context, flags.output === 'text' ? done : structured(flags.output, answer));
      }
      const what =
        `${replica.name} drains, and is deleted when nothing protects it. ` +
        `${fleet.name} gets another one if it still wants so many`;
      await give(context, flags, place, fleet, { text, what });
    });
}
