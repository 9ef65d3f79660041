/** The results of passes, as labels of metrics. */
import type { Plan } from './plan/index.ts';
import type { Reason } from '../reasons/index.ts';
import type { ObjectKey } from '../resources/index.ts';
import type { HandledCommand } from '../state/index.ts';
import type { Logger, Metrics } from '../telemetry/index.ts';

/** The names of controller-runtime. */
export const passResults = {
  'in-sync': 'success',
  hold: 'success',
  act: 'requeue',
  arrange: 'requeue',
  wait: 'requeue_after',
} as const satisfies Record<Plan['kind'], string>;

export function reasonOf(plan: Plan): Reason {
  if (plan.kind === 'in-sync') return 'InSync';
  return plan.kind === 'act' ? plan.step.reason : plan.reason;
}

export function reportCommand(
  { metrics, logger }: { readonly metrics: Pick<Metrics, 'commands'>; readonly logger: Logger },
  object: ObjectKey,
  { command, result, message }: Omit<HandledCommand, 'at'>,
): void {
  metrics.commands.inc({ verb: /^[a-z-]{0,20}/.exec(command)?.[0] ?? '', result });
  logger.info({ object, command, result, note: message }, 'operator command decided on');
}
