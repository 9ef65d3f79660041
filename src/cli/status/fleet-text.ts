/** What `status` and `describe` show of a ServiceFleet: fields that the status of no other kind has. Pure. */
import { textOf, type StatusEntry } from '../../shown/entries.ts';

type Fields = Readonly<Record<string, unknown>>;

/** `3/4`: replicas that are Ready, of those that are wanted. */
export function readyOfDesired({ record: { status } }: StatusEntry): string | undefined {
  const ready = numberIn(status, 'readyReplicas');
  const desired = numberIn(status, 'desiredReplicas');
  return ready === undefined || desired === undefined ? undefined : `${ready}/${desired}`;
}

/** `r3`, or during and after a rollout `r2 → r3 Progressing`, `r3 → r2 RollingBack`. */
export function revisionState({ record: { status } }: StatusEntry): string | undefined {
  const rollout = rolloutIn(status);
  if (rollout === undefined) return textOf(status?.['updateRevision']);
  const { phase, revision, from } = rollout;
  if (from === undefined || from === revision) return `${revision} ${phase}`;
  return back.has(phase) ? `${revision} → ${from} ${phase}` : `${from} → ${revision} ${phase}`;
}

const back: ReadonlySet<string> = new Set(['RollingBack', 'RolledBack']);

/** Rows of `describe`. */
export function fleetRows({ record: { status } }: StatusEntry): [string, string | undefined][] {
  return [
    ['Replicas:', replicasText(status)],
    ['Revision:', revisionText(status)],
    ['Rollout:', rolloutText(rolloutIn(status))],
  ];
}

const counts = [
  ['desiredReplicas', 'desired'],
  ['replicas', 'current'],
  ['updatedReplicas', 'updated'],
  ['availableReplicas', 'available'],
] as const;
/** Shown where there are any. */
const others = [
  ['drainingReplicas', 'draining'],
  ['failedReplicas', 'failed'],
] as const;

/** `4 desired, 4 current, 3 updated, 3 available, 1 failed`. */
function replicasText(status: Fields | undefined): string {
  const shown = [...counts, ...others.filter(([field]) => numberIn(status, field) !== 0)];
  return shown
    .flatMap(([field, what]) => {
      const count = numberIn(status, field);
      return count === undefined ? [] : [`${count} ${what}`];
    })
    .join(', ');
}

/** `r3`, or `r2 (the document requires r3)`. */
function revisionText(status: Fields | undefined): string | undefined {
  const current = textOf(status?.['currentRevision']);
  const update = textOf(status?.['updateRevision']);
  if (update === undefined || current === update) return current;
  return `${current ?? 'none yet'} (the document requires ${update})`;
}

interface ShownRollout {
  readonly phase: string;
  readonly revision: string;
  readonly from?: string;
  readonly step?: number;
  readonly of?: number;
  readonly kind?: string;
  readonly analyses?: readonly Readonly<Record<'step' | 'passed' | 'failed' | 'inconclusive', number>>[];
}

function rolloutIn(status: Fields | undefined): ShownRollout | undefined {
  return status?.['rollout'] as ShownRollout | undefined;
}

/** `r2 Analysing, step 2 of 4 (analysis); analysis of step 2: 3 passed, 1 failed, 0 inconclusive`. */
function rolloutText(rollout: ShownRollout | undefined): string | undefined {
  if (!rollout) return undefined;
  const { phase, revision, step, of, kind, analyses = [] } = rollout;
  const where = step === undefined ? '' : `, step ${step} of ${of} (${kind})`;
  const measured = analyses.map(
    (each) =>
      `; analysis of step ${each.step}: ${each.passed} passed, ${each.failed} failed, ${each.inconclusive} inconclusive`,
  );
  return `${revision} ${phase}${where}${measured.join('')}`;
}

function numberIn(status: Fields | undefined, field: string): number | undefined {
  const value = status?.[field];
  return typeof value === 'number' ? value : undefined;
}
