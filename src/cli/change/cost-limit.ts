/** `--max-cost-increase`: how much more a plan may cost. */
import { InvalidArgumentError, Option, type Command } from 'commander';
import type { FleetPlan } from '../../manager/index.ts';
import { usd } from '../output/render.ts';

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
        'exit with 4, and change nothing, if the plan costs more than that in addition, in USD an hour',
      ).argParser(parseUsd),
    )
    .option('--unpriced-ok', 'of --max-cost-increase: changes without a known price count as nothing');
}

/** Why the plan costs too much. Undefined: it does not. */
export function costProblem(
  { cost }: Pick<FleetPlan, 'cost'>,
  { maxCostIncrease, unpricedOk = false }: CostLimitFlags,
): string | undefined {
  if (maxCostIncrease === undefined) return undefined;
  const limit = `--max-cost-increase is ${usd(maxCostIncrease)}/h`;
  if (cost.deltaHourlyMicros > maxCostIncrease)
    return `the plan costs ${usd(cost.deltaHourlyMicros)}/h more, and ${limit}`;
  if (cost.unpriced === 0 || unpricedOk) return undefined;
  return `${limit}, and ${cost.unpriced} of ${cost.changes} changes have no known price: state it in \`prices\` of the Account, or accept that with --unpriced-ok`;
}

function parseUsd(text: string): number {
  const amount = /^\d{1,9}(?:\.\d{1,6})?$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(amount)) throw new InvalidArgumentError('expected USD an hour, such as 5 or 0.25');
  return Math.round(amount * 1_000_000);
}
