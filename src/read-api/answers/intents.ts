/** A mutation or an Event, as the object and the timeline show it. Pure. */
import { rfc3339 } from '../../base/index.ts';
import type { ShownIntent } from '../schemas/parts.ts';
import { askedByText, whyText } from '../../engine/plan/index.ts';
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
    ...whyOf(intent),
    outcome,
    finishedAt: finishedAt === undefined ? null : rfc3339(finishedAt),
    durationMs: finishedAt === undefined ? null : Math.max(0, finishedAt - createdAt),
    targetId: targetId ?? null,
    idempotencyKey,
    generation,
    note: note ?? null,
  };
}

/** An intent of an earlier version has only a generation and a token. The first start of a service has a token, too. */
function whyOf({ why, action, restartToken, generation }: Intent) {
  if (why) {
    const { reason, fields = [] } = why;
    return { reason, fields: [...fields], why: whyText(why), askedBy: askedByText({ why, generation }) };
  }
  const isRestart = restartToken !== undefined && action.startsWith('restart');
  const text = isRestart ? `restart token ${restartToken}` : `generation ${generation} of the document`;
  return { reason: null, fields: [], why: null, askedBy: text };
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
    reason: null,
    fields: [],
    askedBy: '',
    outcome: 'event',
    finishedAt: null,
    durationMs: null,
    targetId: null,
    idempotencyKey: uid,
    generation: 0,
    note: count > 1 ? `${message} (${count} times)` : message,
  };
}
