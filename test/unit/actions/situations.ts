/** What an account read can show after a request without an answer, for each kind of evidence. */
import type { ActionEntry } from '../../../src/actions/index.ts';
import type { Difference, Observation } from '../../../src/engine/plan/index.ts';
import type { Intent } from '../../../src/state/index.ts';

type Shown = { readonly state?: string; readonly revision?: number };

export interface Situation {
  /** As a cell of the table has it. */
  readonly text: string;
  readonly observation: Observation<Shown>;
  /** What differs from the desired state. */
  readonly differs?: 'visibly' | 'hidden';
  /** Something new and unmanaged does not show whether it carries the mark. */
  readonly marksHidden?: true;
}

export type EvidenceName =
  | 'mark'
  | 'entry'
  | 'fields at a revision'
  | 'fields'
  | 'left'
  | 'paused'
  | 'moved'
  | 'gone'
  | 'not listed';

const present = (value: Shown): Observation<Shown> => ({ kind: 'present', value });
const absent: Observation<Shown> = { kind: 'absent', confirmed: true };
const two: Observation<Shown> = { kind: 'conflict', reason: 'MarkedTwice', message: 'two of them' };
/** As before the request, where a request has changed nothing. */
const before = { state: 'running', revision: 5 };
const moved = present({ ...before, revision: 6 });
const withoutState = { text: 'no state is shown', observation: present({ revision: 5 }) };

const visibleFields: readonly Situation[] = [
  { text: 'the fields are as sent', observation: moved },
  { text: 'a visible one differs', observation: moved, differs: 'visibly' },
  {
    text: 'hidden ones differ, and the revision is unchanged',
    observation: present(before),
    differs: 'hidden',
  },
];
const hiddenFields: readonly Situation[] = [
  { text: 'hidden ones differ, and the revision is higher', observation: moved, differs: 'hidden' },
  {
    text: 'hidden ones differ, and the revision is lower',
    observation: present({ ...before, revision: 4 }),
    differs: 'hidden',
  },
  {
    text: 'hidden ones differ, and no revision is shown',
    observation: present({ state: 'running' }),
    differs: 'hidden',
  },
];

export const situations: Readonly<Record<EvidenceName, readonly Situation[]>> = {
  mark: [
    { text: 'one thing carries the mark', observation: present(before) },
    { text: 'nothing carries it', observation: absent },
    { text: 'two things carry it', observation: two },
    { text: 'a new unmanaged thing hides its marks', observation: absent, marksHidden: true },
  ],
  entry: [
    { text: 'there is an entry for the repository', observation: present(before) },
    { text: 'there is none', observation: absent },
    { text: 'a new unmanaged entry shows no readable repository', observation: absent, marksHidden: true },
  ],
  'fields at a revision': [...visibleFields, ...hiddenFields],
  fields: [...visibleFields, ...hiddenFields],
  left: [
    { text: 'it is neither paused nor sleeping', observation: present({ state: 'provisioning' }) },
    { text: 'it is paused', observation: present({ state: 'paused' }) },
    { text: 'it is sleeping', observation: present({ state: 'sleeping' }) },
    withoutState,
  ],
  paused: [
    { text: 'it is paused', observation: present({ state: 'paused' }) },
    { text: 'it is running', observation: present({ state: 'running' }) },
    { text: 'it is sleeping', observation: present({ state: 'sleeping' }) },
    { text: 'it is in error', observation: present({ state: 'error' }) },
    { text: 'it is in another state', observation: present({ state: 'provisioning' }) },
    withoutState,
  ],
  moved: [
    { text: 'the revision has changed', observation: moved },
    { text: 'the state has changed', observation: present({ ...before, state: 'provisioning' }) },
    { text: 'both are the same', observation: present(before) },
    { text: 'the state is the same, and no revision is shown', observation: present({ state: 'running' }) },
  ],
  gone: [
    { text: 'it is gone', observation: absent },
    { text: 'it is deleting', observation: present({ state: 'deleting' }) },
    { text: 'it is in another state', observation: present(before) },
    withoutState,
  ],
  'not listed': [
    { text: 'it is gone', observation: absent },
    { text: 'it is there', observation: present({ revision: 5 }) },
  ],
};

export function evidenceName({ evidence }: ActionEntry): EvidenceName {
  if (evidence.by === 'mark') return evidence.isSingle ? 'entry' : 'mark';
  if (evidence.by === 'fields') return evidence.isRevised ? 'fields at a revision' : 'fields';
  if (evidence.by === 'gone') return evidence.stateless ? 'not listed' : 'gone';
  return evidence.by;
}

/** An open intent of the action, which was written down when the thing was running at revision 5. */
export function intentOf({ name }: ActionEntry): Intent {
  return {
    idempotencyKey: 'key',
    object: 'ContainerService/default/web',
    action: name,
    targetId: undefined,
    bodyDigest: '',
    baseRevision: before.revision,
    baseState: before.state,
    generation: 1,
    restartToken: undefined,
    digests: undefined,
    createdAt: 0,
    finishedAt: undefined,
    outcome: 'unknown',
    note: undefined,
  };
}

/** Of a field that the action sets. */
export function differencesIn({ differs }: Situation, { fields }: ActionEntry): Difference[] {
  if (differs === undefined) return [];
  const path = fields === 'all' ? 'image' : (fields[0] ?? '');
  const difference = { path, desired: 1, observed: 2, drift: false };
  return [differs === 'hidden' ? { ...difference, hidden: true } : difference];
}
