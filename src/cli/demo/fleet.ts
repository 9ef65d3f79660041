/** The fleet as the demo shows it: one row per object, kept up to date from the passes over it. */
import { UserError, type Clock } from '../../base/index.ts';
import { differenceText, type Plan } from '../../engine/plan/index.ts';
import type { PassResult } from '../../engine/index.ts';
import {
  managedKinds,
  parseObjectKey,
  traitsOf,
  type ManagedKind,
  type ObjectKey,
} from '../../resources/index.ts';
import type { DriftEntry, ObjectRecord } from '../../state/index.ts';
import { wordsOf } from './words.ts';

export interface DemoRow {
  readonly key: ObjectKey;
  readonly kind: string;
  readonly name: string;
  readonly state: string;
  readonly ready: 'yes' | 'no' | 'held';
  /** What is being done or waited for; empty when nothing is. */
  readonly doing: string;
  /** The endpoint of a service, the size of a volume, how many replicas are available. */
  readonly detail: string;
  /** From the moment that drift is seen until the object is Ready again. */
  readonly drifted: boolean;
  /** How often drift was seen and then healed. */
  readonly heals: number;
  /** Monotonic time at which the object was gone for good. */
  readonly goneAtMs: number | undefined;
}

/** A message that is shown once. `step`: it needs a line of its own only where there is no table. */
export interface DemoEvent {
  readonly tone: 'actor' | 'step' | 'good' | 'drift' | 'bad';
  readonly subject: string;
  readonly text: string;
}

/** An object comes after those that it refers to. */
function rankOf(kind: ManagedKind): string {
  const traits = traitsOf(kind);
  const depth = traits.home === 'itself' ? 0 : traits.home !== 'accountRef' ? 3 : traits.references ? 2 : 1;
  return `${depth} ${traits.noun}`;
}

const kindOrder = managedKinds
  .toSorted((left, right) => (rankOf(left) < rankOf(right) ? -1 : 1))
  .map((kind) => traitsOf(kind).noun);
/** How long the row of a deleted object stays to be seen. */
const farewellMs = 5000;

interface Waiter {
  readonly isMet: () => boolean;
  readonly resolve: () => void;
}

export class DemoFleet {
  readonly #rows = new Map<ObjectKey, DemoRow>();
  readonly #clock: Clock;
  readonly #tell: (event: DemoEvent) => void;
  #waiters: Waiter[] = [];

  constructor(clock: Clock, tell: (event: DemoEvent) => void) {
    this.#clock = clock;
    this.#tell = tell;
  }

  row(key: ObjectKey): DemoRow | undefined {
    return this.#rows.get(key);
  }

  /** Accounts, volumes, services, each by name; what has gone stays for a moment. */
  rows(): DemoRow[] {
    const oldestMs = this.#clock.monotonicMs() - farewellMs;
    return [...this.#rows.values()]
      .filter(({ goneAtMs }) => goneAtMs === undefined || goneAtMs > oldestMs)
      .sort(
        (left, right) =>
          kindOrder.indexOf(left.kind) - kindOrder.indexOf(right.kind) || (left.name < right.name ? -1 : 1),
      );
  }

  /** After a pass; `record` is undefined when the object is gone. */
  observe(key: ObjectKey, record: ObjectRecord | undefined, result: PassResult): void {
    const before = this.#rows.get(key);
    if (!record || result.removed) {
      if (!before || before.goneAtMs !== undefined) return;
      this.#rows.set(key, {
        ...before,
        state: 'gone',
        ready: 'no',
        doing: '',
        detail: '',
        goneAtMs: this.#clock.monotonicMs(),
      });
      this.#tell({ tone: 'good', subject: subjectOf(before), text: 'deleted' });
    } else {
      const after = rowOf(key, record, result.plan, before);
      this.#rows.set(key, after);
      for (const event of eventsBetween(before, after, record.status?.drift ?? [])) this.#tell(event);
    }
    const met = this.#waiters.filter(({ isMet }) => isMet());
    this.#waiters = this.#waiters.filter((waiter) => !met.includes(waiter));
    for (const { resolve } of met) resolve();
  }

  /** Resolves when the condition holds after a pass; rejects when time is up, or when the demo is stopped. */
  async until(what: string, isMet: () => boolean, limitMs: number, stopped: AbortSignal): Promise<void> {
    if (isMet()) return;
    await new Promise<void>((resolve, reject) => {
      const end = (act: () => void) => {
        timer.cancel();
        stopped.removeEventListener('abort', onStop);
        act();
      };
      const timer = this.#clock.after(limitMs, () =>
        end(() => reject(new UserError(`not seen within ${limitMs / 1000} s: ${what}`, this.#unready()))),
      );
      const onStop = () => end(() => reject(new UserError(`stopped before it was seen: ${what}`)));
      stopped.addEventListener('abort', onStop);
      this.#waiters.push({ isMet, resolve: () => end(resolve) });
      if (stopped.aborted) onStop();
    });
  }

  #unready(): string {
    const rows = this.rows().filter(({ ready, goneAtMs }) => ready !== 'yes' && goneAtMs === undefined);
    const list = rows.map((row) => `${subjectOf(row)} (${row.doing || row.state})`).join(', ');
    return list ? `not Ready: ${list}` : 'all objects are Ready';
  }
}

function subjectOf({ kind, name }: DemoRow): string {
  return `${kind}/${name}`;
}

function rowOf(key: ObjectKey, record: ObjectRecord, plan: Plan, before: DemoRow | undefined): DemoRow {
  const { kind, name } = parseObjectKey(key);
  const { status, deletionRequestedAt } = record;
  const isTrue = (type: string) => status?.conditions.find((item) => item.type === type)?.status === 'True';
  const ready = isTrue('Ready') ? 'yes' : isTrue('Stalled') ? 'held' : 'no';
  const drifts = (status?.drift ?? []).length > 0;
  const heals = (before?.heals ?? 0) + (before?.drifted && ready === 'yes' && !drifts ? 1 : 0);
  return {
    key,
    kind: traitsOf(kind).noun,
    name,
    state: text(status?.['state']) ?? phaseOf(status ?? {}) ?? '-',
    ready: deletionRequestedAt === undefined ? ready : 'no',
    doing: wordsOf(plan, deletionRequestedAt !== undefined) ?? before?.doing ?? '',
    detail: text(status?.['endpoint']) ?? (sizeOf(status ?? {}) || replicasOf(status ?? {})),
    drifted: drifts || (before?.drifted === true && ready !== 'yes'),
    heals,
    goneAtMs: undefined,
  };
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function sizeOf(status: Readonly<Record<string, unknown>>): string {
  const { sizeGb, requestedSizeGb } = status;
  if (typeof sizeGb !== 'number') return '';
  return typeof requestedSizeGb === 'number' && requestedSizeGb !== sizeGb
    ? `${sizeGb} of ${requestedSizeGb} GB`
    : `${sizeGb} GB`;
}

type Shown = Readonly<Record<string, unknown>>;

function phaseOf({ rollout }: Shown): string | undefined {
  return text((rollout as { readonly phase?: unknown } | undefined)?.phase);
}

function replicasOf({ availableReplicas, desiredReplicas, currentRevision }: Shown): string {
  if (typeof desiredReplicas !== 'number' || typeof availableReplicas !== 'number') return '';
  const revision = text(currentRevision);
  return `${availableReplicas} of ${desiredReplicas} available${revision === undefined ? '' : `, ${revision}`}`;
}

function* eventsBetween(
  before: DemoRow | undefined,
  after: DemoRow,
  drift: readonly DriftEntry[],
): Generator<DemoEvent> {
  const subject = subjectOf(after);
  if (after.drifted && !before?.drifted) {
    yield {
      tone: 'drift',
      subject,
      text: `Drifted: ${drift.map((each) => differenceText(each)).join('; ')}`,
    };
  } else if (after.doing && after.doing !== before?.doing) {
    yield { tone: after.ready === 'held' ? 'bad' : 'step', subject, text: after.doing };
  }
  if (after.ready !== 'yes') return;
  if (after.heals > (before?.heals ?? 0)) {
    yield { tone: 'good', subject, text: 'healed: it is as declared again' };
  } else if (before?.ready !== 'yes' || before.state !== after.state || before.detail !== after.detail) {
    const facts = [after.state, after.detail].filter((fact) => !['', '-', 'ready'].includes(fact));
    yield { tone: 'good', subject, text: facts.length > 0 ? `Ready: ${facts.join(', ')}` : 'Ready' };
  }
}
