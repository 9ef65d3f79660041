/** `--max-cost-increase`: how much more a plan may cost, with what waits: `apply` does that, too, when the wait is over. */
import { InvalidArgumentError, Option, type Command } from 'commander';
import type { FleetPlan, WaitingCost } from '../../manager/index.ts';
import { oneLine } from '../output/terminal-text.ts';
import { identity, usd } from '../output/render.ts';

export interface CostLimitFlags {
  /** Micro-USD per hour. */
  readonly maxCostIncrease?: number;
  readonly unpricedOk?: boolean;
}

export function withCostLimit(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--max-cost-increase <usd>',
        'exit with 4, and change nothing, if the plan costs more than that in addition, in USD an hour; what waits counts',
      ).argParser(parseUsd),
    )
    .option('--unpriced-ok', 'of --max-cost-increase: changes without a known price count as nothing');
}

/** Why the plan costs too much. Undefined: it does not. */
export function costProblem(
  { cost, waitingCosts = [] }: Pick<FleetPlan, 'cost' | 'waitingCosts'>,
  { maxCostIncrease, unpricedOk = false }: CostLimitFlags,
): string | undefined {
  if (maxCostIncrease === undefined) return undefined;
  const limit = `--max-cost-increase is ${usd(maxCostIncrease)}/h`;
  if (cost.deltaHourlyMicros > maxCostIncrease)
    return `the plan costs ${usd(cost.deltaHourlyMicros)}/h more, and ${limit}`;
  const priced = waitingCosts.filter(({ cost: { deltaMicros } }) => deltaMicros > 0);
  const later = priced.reduce((sum, { cost: { deltaMicros } }) => sum + deltaMicros, cost.deltaHourlyMicros);
  if (later > maxCostIncrease)
    return `the plan costs ${usd(later)}/h more once what waits continues (${namesOf(priced)}), and ${limit}`;
  if (unpricedOk) return undefined;
  if (cost.unpriced > 0)
    return `${limit}, and ${cost.unpriced} of ${cost.changes} changes have no known price: state it in \`prices\` of the Account, or accept that with --unpriced-ok`;
  const unpriced = waitingCosts.filter(({ cost: { basis } }) => basis === 'unknown');
  if (unpriced.length === 0) return undefined;
  return `${limit}, and nobody knows what follows from what waits, or its price (${namesOf(unpriced)}): state it in \`prices\` of the Account, plan again later, or accept that with --unpriced-ok`;
}

const mostNamed = 3;

function namesOf(waiting: readonly WaitingCost[]): string {
  const names = waiting.slice(0, mostNamed).map((one) => `${identity(one)}: ${one.reason}`);
  const more = waiting.length > mostNamed ? `, and ${waiting.length - mostNamed} more` : '';
  return oneLine(`${names.join(', ')}${more}`);
}

function parseUsd(text: string): number {
  const amount = /^\d{1,9}(?:\.\d{1,6})?$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(amount)) throw new InvalidArgumentError('expected USD an hour, such as 5 or 0.25');
  return Math.round(amount * 1_000_000);
}
