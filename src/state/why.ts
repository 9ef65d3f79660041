/**
 * Why a request is sent, and who asked for it, as its intent records it before the call. What it decides, it decides for people
 * only: no later pass reads it. It is bounded, because a cluster has it in the status of each object.
 *
 * | `askedBy.by`   | who asked                                                          | `name`             |
 * |----------------|--------------------------------------------------------------------|--------------------|
 * | `Document`     | an edit: the generation of the intent, or the removal of the document |                 |
 * | `RestartToken` | a new `restartToken`                                               | the token          |
 * | `Drift`        | nobody: somebody else changed a field                              |                    |
 * | `Loss`         | nobody: somebody else deleted it                                   |                    |
 * | `Error`        | `onError`: it is in error                                          |                    |
 * | `Shedding`     | a Budget that sheds, or ceases to                                  | of the Budget      |
 * | `Rollout`      | a fleet that leads to a revision; `Rollback`: back to it           | of the fleet       |
 * | `Scale`        | a fleet that has too few or too many; `detail`: a schedule, a command, a Budget | of the fleet |
 * | `Repair`       | a fleet that replaces a broken replica                             | of the fleet       |
 * | `Command`      | a fleet that carries out an operator command                       | of the fleet       |
 * | `Relocation`   | a fleet that moves a replica to another candidate                  | of the fleet       |
 * | `Fleet`        | a fleet, for another reason                                        | of the fleet       |
 */
const askers = [
  'Document',
  'RestartToken',
  'Drift',
  'Loss',
  'Error',
  'Shedding',
  'Rollout',
  'Rollback',
  'Scale',
  'Repair',
  'Command',
  'Relocation',
  'Fleet',
] as const;

export interface AskedBy {
  readonly by: (typeof askers)[number];
  readonly name?: string;
  /** The number of a revision of the fleet. */
  readonly revision?: number;
  readonly detail?: string;
}

export interface Why {
  /** Of the step, as plans show it: `SpecChanged`. */
  readonly reason: string;
  /** Paths of the fields that it brings to their desired values. None: the whole thing. */
  readonly fields?: readonly string[];
  /** How many there are beside those. */
  readonly moreFields?: number;
  readonly askedBy: AskedBy;
  /** The digest of the plan file that allowed it. */
  readonly planFile?: string;
}

const limits = { fields: 5, text: 120 } as const;

/** Within the bounds. */
export function boundedWhy({ reason, fields = [], moreFields = 0, askedBy, planFile }: Why): Why {
  const kept = fields.slice(0, limits.fields).map(cut);
  const left = moreFields + fields.length - kept.length;
  const { by, name, revision, detail } = askedBy;
  return {
    reason: cut(reason),
    ...(kept.length > 0 ? { fields: kept } : {}),
    ...(left > 0 ? { moreFields: left } : {}),
    askedBy: {
      by,
      ...(name === undefined ? {} : { name: cut(name) }),
      ...(revision === undefined ? {} : { revision }),
      ...(detail === undefined ? {} : { detail: cut(detail) }),
    },
    ...(planFile === undefined ? {} : { planFile: cut(planFile) }),
  };
}

const cut = (text: string) => (text.length > limits.text ? `${text.slice(0, limits.text - 1)}…` : text);

/** Reads stored data. Undefined: an intent of an earlier version has none, and one of a later version another form. */
export function readWhy(stored: unknown): Why | undefined {
  if (!isMap(stored) || typeof stored['reason'] !== 'string' || !isMap(stored['askedBy'])) return undefined;
  const { reason, fields, moreFields, askedBy, planFile } = stored;
  const by = askers.find((each) => each === askedBy['by']);
  if (by === undefined) return undefined;
  const { name, revision, detail } = askedBy;
  return boundedWhy({
    reason,
    ...(Array.isArray(fields) ? { fields: fields.filter((each) => typeof each === 'string') } : {}),
    ...(isCount(moreFields) ? { moreFields } : {}),
    askedBy: {
      by,
      ...(typeof name === 'string' ? { name } : {}),
      ...(isCount(revision) ? { revision } : {}),
      ...(typeof detail === 'string' ? { detail } : {}),
    },
    ...(typeof planFile === 'string' ? { planFile } : {}),
  });
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
