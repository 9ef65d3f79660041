/** The results of passes, as labels of metrics. */
import type { Arrange, Plan } from './plan/index.ts';
import type { PassResult } from './decision.ts';
import { reasons, type Reason } from '../reasons/index.ts';
import { parseObjectKey, type ObjectKey } from '../resources/index.ts';
import type { HandledCommand, OwnerRevision } from '../state/index.ts';
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

function reportCommand(
  { metrics, logger }: { readonly metrics: Pick<Metrics, 'commands'>; readonly logger: Logger },
  object: ObjectKey,
  { command, result, message }: Omit<HandledCommand, 'at'>,
): void {
  metrics.commands.inc({ verb: /^[a-z-]{0,20}/.exec(command)?.[0] ?? '', result });
  logger.info({ object, command, result, note: message }, 'operator command decided on');
}

/** Revisions whose rollout has ended. */
export function countRollouts(
  { rollouts, rolloutSeconds }: Pick<Metrics, 'rollouts' | 'rolloutSeconds'>,
  before: readonly OwnerRevision[],
  after: readonly OwnerRevision[],
): void {
  const known = new Map(before.map((revision) => [revision.number, revision]));
  for (const { number, outcome, at } of after) {
    const earlier = known.get(number);
    if (earlier?.outcome !== 'RollingOut' || outcome === 'RollingOut' || outcome === 'New') continue;
    rollouts.inc({ outcome });
    rolloutSeconds.observe(Math.max(0, at - earlier.at) / 1000);
  }
}

/** A status, with what was arranged. `earlier`: the revisions before. */
export function reportSaved(
  options: { readonly metrics: Metrics; readonly logger: Logger },
  object: ObjectKey,
  {
    handled,
    revisions,
    measured = [],
    news = [],
  }: Partial<Pick<Arrange, 'handled' | 'revisions' | 'measured'>> & Pick<PassResult, 'news'>,
  earlier: readonly OwnerRevision[],
): void {
  options.metrics.statusWrites.inc({ kind: parseObjectKey(object).kind });
  for (const { check, outcome } of measured) options.metrics.analysisMeasurements.inc({ check, outcome });
  if (revisions) countRollouts(options.metrics, earlier, revisions);
  if (handled) reportCommand(options, object, handled);
  for (const { reason, message } of news) {
    if (reasons[reason].severity === 'info') options.logger.info({ object, reason, note: message }, 'news');
    else options.logger.warn({ object, reason, note: message }, 'warning');
  }
}
