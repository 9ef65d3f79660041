import { Option, type Command } from 'commander';
import { metricsMinutes, type MetricsMinutes } from '../../api/wire.ts';
import { answerTo } from '../output/answers.ts';
import { print, type Context } from '../context.ts';
import { metricsText } from '../output/metrics-text.ts';
import { outputOption } from '../options.ts';
import { structured, type OutputFormat } from '../output/output.ts';
import { withProgress } from '../output/progress.ts';
import { withService, withServiceFlags, type ServiceFlags } from '../account/service-lookup.ts';

interface MetricsFlags extends ServiceFlags {
  readonly output: OutputFormat;
  readonly minutes: MetricsMinutes;
}

/** `metrics`: what the provider measured in a service; `json` and `yaml` give it as the API does. */
export function defineMetrics(command: Command, context: Context): void {
  withServiceFlags(command.arguments('[name]'))
    .addOption(
      new Option('--minutes <window>', 'how far back').choices(metricsMinutes).default(metricsMinutes[0]),
    )
    .addOption(outputOption())
    .action((name: string | undefined, flags: MetricsFlags) =>
      withService(context, name, flags, async ({ account, id, label }) => {
        const read = () => account.api.metrics(id, flags.minutes, context.stopped);
        const outcome = await withProgress(context, () => `reading the metrics of ${label}`, read);
        const answer = answerTo(`read the metrics of ${label}`, outcome, context.stopped);
        print(
          context,
          flags.output === 'text' ? metricsText(answer) : structured(flags.output, { metrics: answer }),
        );
      }),
    );
}
