/** `describe` for people, in the sections of `kubectl describe`. */
import { rfc3339 } from '../../base/index.ts';
import { askedByText, capacityText, differenceText, shortened, whyText } from '../../engine/plan/index.ts';
import type { ShownCapacity } from '../../state/index.ts';
import { renderTable, usd, type Palette } from '../output/render.ts';
import { age, longestLine, oneLine } from '../output/terminal-text.ts';
import type { Described, NextStep, ProtectingTask } from '../../shown/description.ts';
import { conditionOf, stateOf, textOf } from '../../shown/entries.ts';
import { agoText, spanText } from '../../shown/manager-state.ts';
import { budgetRows } from './budget-text.ts';
import { fleetRows } from './fleet-text.ts';

export interface TextView {
  readonly colours: Palette;
  readonly nowMs: number;
  /** A manager is known not to run: nothing is done, and no heartbeat is sent, until one does. */
  readonly isUnmanaged: boolean;
}

export function describedText(described: Described, view: TextView): string {
  const sections = [
    ['Conditions', conditions(described, view)],
    ['Drift', drift(described, view)],
    ['Mutations', mutations(described, view)],
    ['Protection', protection(described.protection, view)],
    ...(capacityIn(described).length === 0 ? [] : [['Capacity', capacity(described, view)] as const]),
    ['Next', next(described.next, view)],
  ] as const;
  return [
    identity(described, view),
    ...sections.map(([head, lines]) =>
      lines.length === 0 ? `${head}: none` : [`${head}:`, ...lines.map((line) => `  ${line}`)].join('\n'),
    ),
  ].join('\n');
}

function identity({ entry, waiting }: Described, { nowMs }: TextView): string {
  const { record, kind, namespace, name, createdAt } = entry;
  const { status, manifest, seen, generation } = record;
  const hourly = status?.['hourlyMicros'];
  const state = stateOf(entry);
  const since = seen === undefined ? '' : ` (since ${rfc3339(seen.since)}, ${age(seen.since, nowMs)})`;
  const observed = status?.observedGeneration ?? 0;
  const rows: [string, string | undefined][] = [
    ['Name:', name],
    ['Namespace:', namespace],
    ['Kind:', kind],
    ['UID:', record.uid],
    ['Labels:', pairs(manifest.labels)],
    ['Annotations:', pairs(manifest.annotations)],
    ['Document:', !record.line ? record.file : `${record.file}:${record.line}`],
    ['Generation:', `${generation}${observed === generation ? '' : ` (observed: ${observed})`}`],
    [
      'Created:',
      createdAt === undefined ? undefined : `${rfc3339(createdAt)} (${agoText(createdAt, nowMs)})`,
    ],
    [
      'Deletion:',
      record.deletionRequestedAt === undefined
        ? undefined
        : `asked for at ${rfc3339(record.deletionRequestedAt)}`,
    ],
    ['Account:', record.account],
    ['ID:', textOf(status?.['id'])],
    ['State:', state === undefined ? undefined : `${state}${since}`],
    ['Endpoint:', textOf(status?.['endpoint'])],
    ...fleetRows(entry),
    ...budgetRows(entry, waiting),
    ['Cost:', typeof hourly === 'number' ? `${usd(hourly)}/h` : undefined],
  ];
  const width = Math.max(...rows.map(([head]) => head.length)) + 1;
  return rows
    .flatMap(([head, value]) =>
      value === undefined || value === '' ? [] : [`${head.padEnd(width)}${oneLine(value)}`],
    )
    .join('\n');
}

function pairs(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ');
}

function conditions({ entry }: Described, { nowMs }: TextView): string[] {
  const found = entry.record.status?.conditions ?? [];
  return table(
    ['TYPE', 'STATUS', 'REASON', 'AGE', 'MESSAGE'],
    found.map(({ type, status, reason, lastTransitionTime, message }) => [
      type,
      status,
      reason,
      age(Date.parse(lastTransitionTime), nowMs),
      message,
    ]),
  );
}

function drift({ entry }: Described, { nowMs }: TextView): string[] {
  const drifted = conditionOf(entry, 'Drifted');
  const unknown = drifted?.status === 'Unknown' ? [oneLine(`${drifted.reason}: ${drifted.message}`)] : [];
  const entries = (entry.record.status?.drift ?? []).map((found) => {
    const { kind, since, cause } = found;
    const span = age(Date.parse(since), nowMs);
    const why = ` (${kind}, for ${span})${cause === undefined ? '' : `: ${shortened(cause, longestLine / 4)}`}`;
    return oneLine(`${differenceText(found, longestLine - why.length)}${why}`);
  });
  return [...unknown, ...entries];
}

function mutations({ mutations: found }: Described, { nowMs }: TextView): string[] {
  return table(
    ['AGE', 'ACTION', 'OUTCOME', 'TOOK', 'WHY', 'ASKED-BY', 'IDEMPOTENCY-KEY', 'NOTE'],
    found.map(({ action, outcome, idempotencyKey, createdAt, finishedAt, note, why, generation }) => [
      age(createdAt, nowMs),
      action,
      outcome,
      finishedAt === undefined ? '-' : spanText(Math.max(0, finishedAt - createdAt)),
      why ? whyText(why) : '-',
      why ? askedByText({ why, generation }) : '-',
      idempotencyKey,
      note ?? '',
    ]),
  );
}

function protection(tasks: readonly ProtectingTask[], { nowMs }: TextView): string[] {
  return table(
    ['TASK', 'STATE', 'HEARTBEAT', 'ACTIVITY', 'MESSAGE'],
    tasks.map(({ task, state, isReleased, heartbeatAt, activityId, ready }) => [
      task,
      state ?? '-',
      isReleased ? 'released' : heartbeatAt === undefined ? 'not recorded' : agoText(heartbeatAt, nowMs),
      activityId ?? '-',
      ready === undefined ? '' : `${ready.reason}${ready.message ? `: ${ready.message}` : ''}`,
    ]),
  );
}

function capacityIn({ entry }: Described): readonly ShownCapacity[] {
  const shown = entry.record.status?.['capacity'];
  return Array.isArray(shown) ? shown : [];
}

function capacity(described: Described, { nowMs }: TextView): string[] {
  return table(
    ['STATE', 'FOR', 'AGE', 'DEMAND', 'REFUSALS', 'NEXT', 'MESSAGE'],
    capacityIn(described).map((entry) => {
      const { state, since, at, failures = 0, retryAt, status, code = '', message = '' } = entry;
      const nextMs = retryAt === undefined ? undefined : Date.parse(retryAt);
      const isAhead = nextMs !== undefined && nextMs > nowMs;
      return [
        state,
        age(Date.parse(since), nowMs),
        age(Date.parse(at), nowMs),
        capacityText(entry),
        failures === 0 ? '-' : String(failures),
        nextMs === undefined ? '-' : isAhead ? `in ${spanText(nextMs - nowMs)}` : 'now',
        status === undefined ? '' : `${status} ${code}: ${message}`,
      ];
    }),
  );
}

const turns = { user: 'yours', provider: "the provider's", fleetkeeper: "Fleetkeeper's" } as const;

function next(step: NextStep, { nowMs, isUnmanaged }: TextView): string[] {
  const { reason, message, turn, remedy, times, docs } = step;
  return [
    ...(isUnmanaged
      ? ['no manager is running: until one does, nothing follows, and no ProtectedTask gets heartbeats']
      : []),
    oneLine(
      `${reason}: ${isUnmanaged && reason === 'Held' ? 'the activity of the task is registered' : message}`,
    ),
    // Nobody else continues before somebody starts a manager.
    ...(turn === undefined ? [] : [`turn: ${isUnmanaged ? turns.user : turns[turn]}`]),
    ...(remedy === '' ? [] : [`to do: ${oneLine(remedy)}`]),
    ...times.map(({ at, what }) => (at === undefined ? what : `${when(at, nowMs)}: ${what}`)),
    ...(docs === undefined ? [] : [`see ${docs}`]),
  ];
}

function when(at: number, nowMs: number): string {
  const distance = at > nowMs ? `in ${spanText(at - nowMs)}` : agoText(at, nowMs);
  return `${rfc3339(at)} (${distance})`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  if (rows.length === 0) return [];
  return renderTable(
    head,
    rows.map((cells) => cells.map(oneLine)),
  ).split('\n');
}
