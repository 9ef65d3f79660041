/**
 * What of a pass becomes an Event in a cluster: each mutation with its outcome, each hold, and each drift.
 * Each is reported once. Pure. Waits are in the conditions only. The exception is a wait for somebody's task,
 * since an operator may want to end that.
 */
import { actionOf } from '../../actions/index.ts';
import { differenceText, type Plan } from '../plan/index.ts';
import { entryOf, type Reason } from '../../reasons/index.ts';
import type { DriftEntry, Intent } from '../../state/index.ts';

export interface PassEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: Reason;
  readonly message: string;
}

export interface PassView {
  readonly plan: Plan;
  readonly lastIntent: Intent | undefined;
  /** The id of the thing at the provider, including one that a creation has just made. */
  readonly id: string | undefined;
  readonly drift: readonly DriftEntry[];
  /** Other things that carry its mark. */
  readonly duplicates?: { readonly ids: readonly string[]; readonly message: string };
}

/** What has been reported about an object so far. */
export interface ReportedEvents {
  readonly intent: string;
  readonly obstacle: string;
  readonly drift: readonly string[];
  readonly duplicates: readonly string[];
}

export const nothingReported: ReportedEvents = { intent: '', obstacle: '', drift: [], duplicates: [] };

/**
 * What is new in `view`. `sinceMs` (Unix milliseconds): intents that ended earlier were reported by an
 * earlier process.
 */
export function newEvents(
  view: PassView,
  before: ReportedEvents,
  sinceMs: number,
): { readonly reported: ReportedEvents; readonly news: readonly PassEvent[] } {
  const reported: ReportedEvents = {
    intent: intentMark(view.lastIntent),
    obstacle: obstacleOf(view.plan)?.reason ?? '',
    drift: view.drift.map(driftMark),
    duplicates: view.duplicates?.ids ?? [],
  };
  const news = [
    ...(reported.intent === before.intent ? [] : intentNews(view, sinceMs)),
    ...(reported.obstacle === before.obstacle ? [] : obstacleNews(view.plan)),
    ...(reported.duplicates.every((id) => before.duplicates.includes(id)) ? [] : duplicateNews(view)),
    ...driftNews(view.drift.filter((entry) => !before.drift.includes(driftMark(entry)))),
  ];
  return { reported, news };
}

function intentMark(intent: Intent | undefined): string {
  return intent ? `${intent.idempotencyKey} ${intent.createdAt} ${intent.outcome}` : '';
}

function intentNews({ lastIntent: intent, id }: PassView, sinceMs: number): PassEvent[] {
  if (!intent || (intent.finishedAt ?? intent.createdAt) < sinceMs) return [];
  const { action, outcome, note, targetId = outcome === 'applied' ? id : undefined } = intent;
  const what = `${action}${targetId === undefined ? '' : ` ${targetId}`}`;
  switch (outcome) {
    case 'applied':
      return [{ type: 'Normal', reason: actionOf(action)?.event ?? 'Changed', message: what }];
    case 'refused':
      return [{ type: 'Warning', reason: 'Refused', message: `${what}: ${note ?? 'refused'}` }];
    case 'unknown':
      return [
        { type: 'Warning', reason: 'OutcomeUnknown', message: `${what}: ${note ?? 'there was no answer'}` },
      ];
    case 'not-applied':
      return [{ type: 'Normal', reason: 'NotApplied', message: `${what} did not happen, as evidence shows` }];
    case 'outdated':
      return [
        {
          type: 'Normal',
          reason: 'Outdated',
          message: `${what} may have happened, and no longer can: its revision has moved`,
        },
      ];
    case 'repeatable':
      return [
        {
          type: 'Normal',
          reason: 'Repeatable',
          message: `${what} may have happened; the same request is sent again, with its key`,
        },
      ];
    case 'pending':
    case 'not-sent':
      return [];
  }
}

function obstacleOf(plan: Plan): { readonly reason: Reason; readonly message: string } | undefined {
  if (plan.kind === 'hold') return plan;
  return plan.kind === 'wait' && (plan.stalled || entryOf(plan.reason).event) ? plan : undefined;
}

function obstacleNews(plan: Plan): PassEvent[] {
  const obstacle = obstacleOf(plan);
  if (!obstacle) return [];
  const { reason, message } = obstacle;
  return [{ type: plan.kind === 'hold' ? 'Warning' : 'Normal', reason, message }];
}

function duplicateNews({ duplicates }: PassView): PassEvent[] {
  return duplicates ? [{ type: 'Warning', reason: 'Duplicated', message: duplicates.message }] : [];
}

function driftMark({ path, kind, since }: DriftEntry): string {
  return `${path} ${kind} ${since}`;
}

function driftNews(entries: readonly DriftEntry[]): PassEvent[] {
  if (entries.length === 0) return [];
  const what = entries.map((entry) => {
    const shown = differenceText(entry);
    return entry.cause === undefined ? shown : `${shown} (${entry.cause})`;
  });
  return [{ type: 'Warning', reason: 'Drifted', message: what.join('; ') }];
}
