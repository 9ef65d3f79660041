/** A mutation or an Event, as the object and the timeline show it. Pure. */
import { rfc3339 } from '../../base/index.ts';
import type { ShownIntent } from '../schemas/parts.ts';
import type { ClusterEvent } from '../../manager/index.ts';
import type { Intent } from '../../state/index.ts';

export function shownIntent(intent: Intent, account: string | undefined): ShownIntent {
  const { object, action, createdAt, finishedAt, outcome, targetId, idempotencyKey, generation, note } =
    intent;
  return {
    object,
    account: account ?? null,
    at: rfc3339(createdAt),
    action,
    why: whyOf(intent),
    outcome,
    finishedAt: finishedAt === undefined ? null : rfc3339(finishedAt),
    durationMs: finishedAt === undefined ? null : Math.max(0, finishedAt - createdAt),
    targetId: targetId ?? null,
    idempotencyKey,
    generation,
    note: note ?? null,
  };
}

/** The first start of a service has a token, too. */
function whyOf({ action, restartToken, generation }: Intent): string | null {
  return restartToken === undefined || !action.startsWith('restart')
    ? `generation ${generation} of the document`
    : `restart token ${restartToken}`;
}

/** An Event of Kubernetes has no outcome of its own, and its uid stands for the key. */
export function shownEvent(event: ClusterEvent, account: string | undefined): ShownIntent {
  const { object, reason, message, count, at, uid } = event;
  return {
    object,
    account: account ?? null,
    at: rfc3339(at),
    action: reason,
    why: null,
    outcome: 'event',
    finishedAt: null,
    durationMs: null,
    targetId: null,
    idempotencyKey: uid,
    generation: 0,
    note: count > 1 ? `${message} (${count} times)` : message,
  };
}
