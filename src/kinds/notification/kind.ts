/**
 * Notification: nothing of it exists at the provider. Its pass decides what is announced (engine/problems/announcements.ts), and saves that.
 * The manager sends it then (manager/notices/), and the next pass takes in what became of it. So no pass waits for a sink.
 *
 * | its document or sink                                  | its pass                                           |
 * |-------------------------------------------------------|----------------------------------------------------|
 * | names a kind or reason that does not exist            | Hold InvalidSpec; the rest is announced            |
 * | names namespaces that it may not see                  | Hold InvalidSpec; only its own is announced        |
 * | is one too many for the namespace (more than 20)      | Hold InvalidSpec; nothing is announced             |
 * | refers to a Secret that is not there                  | Hold InvalidReference; messages wait for an hour   |
 * | has an address that may not be asked                  | Hold AddressForbidden; the same                    |
 * | has accepted nothing for an hour                      | Hold SinkRefused; new messages are tried           |
 * | did not accept the last attempt                       | Wait DeliveryFailing                               |
 * | any other                                             | in sync                                            |
 *
 * `paused` stops all of it: what began meanwhile is announced afterwards, if it lasts.
 */
import { nearest, rfc3339 } from '../../base/index.ts';
import { holdFor, inSync, waitFor, type Plan } from '../../engine/plan/index.ts';
import {
  defineKind,
  nextAnnouncements,
  notificationsAtMost,
  resolveSink,
  type Announced,
  type NoticeView,
  type Sink,
  type SinkProblem,
  type View,
} from '../../engine/index.ts';
import { isReason, reasonNames } from '../../reasons/index.ts';
import { annotations, managedKinds, parseObjectKey } from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';
import { announcing, type NotificationSpec } from './schema.ts';
import type { NotificationState } from './state.ts';

export interface NotificationLook {
  readonly record: ObjectRecord<NotificationState>;
  readonly spec: NotificationSpec;
  /** Undefined: nothing is announced for now. */
  readonly view: NoticeView | undefined;
  readonly announced: Announced | undefined;
  readonly sink: Sink | SinkProblem;
  readonly nowMs: number;
}

const refusedAfterMs = 3_600_000;

function look({
  key,
  record,
  object,
  notices,
  fleet,
  clock,
  mode,
}: View<NotificationSpec, never, undefined, NotificationState>): NotificationLook {
  const { spec } = object;
  const isOff = mode === 'preview' || object.deleting || object.annotations[annotations.paused] === 'true';
  const view = isOff ? undefined : notices.of(key);
  const nowMs = clock.wallMs();
  const { terms, sink: reference } = announcing(spec);
  const announced =
    view && !view.isCrowded
      ? nextAnnouncements(record.kind, {
          uid: record.uid,
          terms,
          troubles: view.troubles,
          events: view.events,
          nowMs,
        })
      : undefined;
  const sink = resolveSink(reference, parseObjectKey(key).namespace, fleet.snapshot);
  return { record, spec, view, announced, sink, nowMs };
}

function plan(seen: NotificationLook): Plan {
  const { record, view, announced, sink, spec, nowMs } = seen;
  if (record.deletionRequestedAt !== undefined) return inSync();
  const againAfterMs = announced?.againAfterMs;
  const hold = (reason: Parameters<typeof holdFor>[0], message: string, path: readonly string[]): Plan => ({
    ...holdFor(reason, message, { path: ['spec', ...path] }),
    ...(againAfterMs === undefined ? {} : { recheckAfterMs: againAfterMs }),
  });
  const misspelt = unknownName(spec);
  if (misspelt) return hold('InvalidSpec', misspelt.message, ['match', misspelt.field]);
  if (view?.isCrowded) {
    const message = `more than ${notificationsAtMost} Notifications are in this namespace; the youngest ones, such as this, announce nothing`;
    return hold('InvalidSpec', message, []);
  }
  if (view?.seesTooMuch) {
    const message =
      'in a cluster, only a Notification in the namespace of the operator may name other namespaces; only its own is announced';
    return hold('InvalidSpec', message, ['match', 'namespaces']);
  }
  if ('reason' in sink) return hold(sink.reason, sink.message, ['sink']);
  if (view?.addressProblem !== undefined) return hold('AddressForbidden', view.addressProblem, ['sink']);
  const { failures = 0, failingSince = nowMs, failure = '' } = announced?.state ?? record.kind;
  if (failures === 0) return inSync([], againAfterMs);
  const message = `the last ${failures === 1 ? 'attempt' : `${failures} attempts`} failed: ${failure}`;
  if (nowMs - failingSince >= refusedAfterMs) return hold('SinkRefused', message, ['sink']);
  return waitFor(
    'DeliveryFailing',
    message,
    againAfterMs === undefined ? {} : { recheckAfterMs: againAfterMs },
  );
}

function unknownName({
  match,
}: NotificationSpec): { readonly field: string; readonly message: string } | undefined {
  const kind = match.kinds?.find((name) => !managedKinds.some((known) => known === name));
  if (kind !== undefined) return { field: 'kinds', message: unknownText('kind', kind, managedKinds) };
  const reason = match.reasons?.find((name) => !isReason(name));
  if (reason !== undefined) return { field: 'reasons', message: unknownText('reason', reason, reasonNames) };
  return undefined;
}

function unknownText(what: string, name: string, known: readonly string[]): string {
  const found = nearest(name, known);
  return `there is no ${what} ${name}${found === undefined ? '' : `; did you mean ${found}?`}`;
}

export const notification = defineKind<
  NotificationSpec,
  never,
  NotificationLook,
  undefined,
  NotificationState
>({
  name: 'Notification',
  needsNoAccountRead: true,
  account: () => ({ handle: undefined, problem: undefined }),
  released: ({ record }) => record.deletionRequestedAt !== undefined,
  look,
  plan,
  status: ({ record, announced }) => {
    const state = announced?.state ?? record.kind;
    const { lastDeliveredAt, failures = 0, dropped = 0, announcements = [], beyond = 0 } = state;
    const open = announcements.reduce((sum, each) => sum + each.open.length, beyond);
    return {
      health: { ready: 'True', reason: 'Delivering', message: '' },
      observed: {
        open,
        ...(lastDeliveredAt === undefined ? {} : { lastDeliveredAt: rfc3339(lastDeliveredAt) }),
        failures,
        dropped,
      },
      revision: undefined,
      kind: state,
    };
  },
  secrets: ({ object, key, fleet }) => {
    const { namespace } = parseObjectKey(key);
    const sink = resolveSink(announcing(object.spec).sink, namespace, fleet.snapshot);
    if ('reason' in sink) return [];
    return [sink.url.reveal(), ...(sink.signingKey ? [sink.signingKey.reveal()] : [])];
  },
});
