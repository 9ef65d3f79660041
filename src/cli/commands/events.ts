import type { Command } from 'commander';
import { limits, type ServiceEvent } from '../../api/wire.ts';
import { answerTo } from '../output/answers.ts';
import { complain, print, type Context } from '../context.ts';
import { outputOption } from '../options.ts';
import { stamp, structured, type OutputFormat } from '../output/output.ts';
import { withProgress } from '../output/progress.ts';
import { renderTable } from '../output/render.ts';
import { withService, withServiceFlags, type ServiceFlags } from '../account/service-lookup.ts';
import { age, oneLine } from '../output/terminal-text.ts';

interface EventsFlags extends ServiceFlags {
  readonly output: OutputFormat;
}

/** `events`: the provider's events of a service, the newest last. */
export function defineEvents(command: Command, context: Context): void {
  withServiceFlags(command.arguments('[name]'))
    .addOption(outputOption())
    .action((name: string | undefined, flags: EventsFlags) =>
      withService(context, name, flags, async ({ account, id, label }) => {
        const read = () => account.api.events(id, context.stopped);
        const outcome = await withProgress(context, () => `reading the events of ${label}`, read);
        const events = answerTo(`read the events of ${label}`, outcome, context.stopped).toReversed();
        if (flags.output === 'text') print(context, eventsTable(events, context.clock.wallMs()));
        else print(context, structured(flags.output, eventsData(events)));
        if (events.length >= limits.eventsPerRead) {
          complain(context, `the API shows the newest ${limits.eventsPerRead} events only (§6)`);
        }
      }),
    );
}

export function eventsData(events: readonly ServiceEvent[]): object {
  return { events: events.map(({ message, created_at: at }) => ({ at: stamp(at), message })) };
}

export function eventsTable(events: readonly ServiceEvent[], nowMs: number): string {
  if (events.length === 0) return 'No events.';
  return renderTable(
    ['AGE', 'TIME', 'MESSAGE'],
    events.map(({ message, created_at: at }) => [age(at, nowMs), stamp(at), oneLine(message)]),
  );
}
