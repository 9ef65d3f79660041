/** What is remembered of a ServiceFleet: its roster (roster.ts). */
import { z } from 'zod';
import type { KindStateDeclaration } from '../../resources/parts/kind-state.ts';
import type { TemplateValues } from '../service-template/schema.ts';

/**
 * What a later version has added is kept for the next upgrade, and is in no type: no code may use it. That version has to expect that all else has
 * changed since.
 */
function keeping<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape> {
  return z.looseObject(shape);
}

/** Where a replica is. None of it can be changed while the replica exists. */
const place = z.object({
  account: z.string(),
  region: z.string(),
  geography: z.string().optional(),
  volumeGb: z.number().optional(),
  /** It has a StorageVolume of its own (volumes.ts). */
  volume: z.literal(true).optional(),
  /** Undefined: as the template requires. */
  resources: z.object({ gpuCount: z.number(), cpu: z.number(), memoryGb: z.number() }).optional(),
});

const entry = keeping({
  slot: z.int(),
  phase: z.enum(['wanted', 'draining', 'retiring']),
  /** Unix milliseconds since when it has had its phase. */
  since: z.number(),
  /** The number of the revision that it is to have. Undefined: found again, and not compared yet. */
  revision: z.int().optional(),
  /** Unix milliseconds at which it got its revision in place of another one. */
  updated: z.number().optional(),
  /** The number of the one before. */
  earlier: z.int().optional(),
  /** It is restarted for this attempt at its revision. */
  retried: z.int().optional(),
  /** It was restarted for `token`, that of a retry. That counts as a restart for `of`, the token of its revision then. */
  restarted: z.object({ token: z.string(), of: z.string() }).optional(),
  /** What stood in the place of `revision` before there were any: a digest of the content. */
  granted: z.string().optional(),
  place,
  /** The name of the candidate that it was placed at. */
  candidate: z.string().optional(),
  /** What its candidate does not allow was recorded. */
  rejected: z.boolean().optional(),
  /** Unix milliseconds at which it was found protected, and taken back. */
  spared: z.number().optional(),
  /** Unix milliseconds since when it may be interrupted, to correct what others changed in it. */
  corrects: z.number().optional(),
  /** Unix milliseconds at which that was found to wait for somebody's work. */
  blocked: z.number().optional(),
  /**
   * Why it leaves: fewer are wanted, it is broken, a person has ordered it, or it can't stay where it is. Undefined: another one
   * takes its place in a rollout.
   */
  cause: z.enum(['scale', 'repair', 'retire', 'placement']).optional(),
  /** Who wanted the number of replicas by which it was added or leaves. Undefined: the document. */
  by: z.string().optional(),
});

/** The StorageVolume of a slot. It may be there without a replica. */
const volume = z.object({
  slot: z.int(),
  account: z.string(),
  region: z.string(),
  geography: z.string().optional(),
  /** What it is to have. */
  sizeGb: z.number(),
  /** It is deleted after its service. */
  retired: z.literal(true).optional(),
});

/** What a revision took of the ServiceTemplate of this name. */
const taken = z.object({ revision: z.int(), name: z.string(), values: z.custom<TemplateValues>(isMap) });

function isMap(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

/** An analysis of the rollout that has begun (analysis.ts). All times in Unix milliseconds. */
const analysis = keeping({
  /** The index of its step, and a digest of its checks: results of other checks do not count. */
  step: z.int(),
  checks: z.string(),
  /** When its last measurement began; without one, when it did itself. */
  at: z.number(),
  /** The next measurement is to be made at once. */
  isDue: z.literal(true).optional(),
  /** So much of its time was over then (milliseconds). */
  spentMs: z.number(),
  /** Measurements, by their outcome. */
  passed: z.int(),
  failed: z.int(),
  inconclusive: z.int(),
  /** The slot that was measured last. The next measurement begins behind it. */
  slot: z.int().optional(),
  /** What the last measurement found, if it did not pass. */
  last: z.string().optional(),
  /**
   * The measurement of `at` is under way. It is saved before anything of it is sent. `by`: the process that sends it; `slots`: the
   * replicas; `trouble`: what makes it fail in any case.
   */
  asked: z.object({ by: z.string(), slots: z.array(z.int()), trouble: z.string().optional() }).optional(),
});

/** A rollout that is under way, or that has ended in another way than it should (rollout.ts). All times in Unix milliseconds. */
const rollout = keeping({
  /** The number of the revision that it leads to, or was to lead to. */
  revision: z.int(),
  phase: z.enum(['Progressing', 'Paused', 'Analysing', 'RollingBack', 'RolledBack', 'Frozen']),
  /** Counts from 1: how often the revision was tried. */
  attempt: z.int(),
  /** How many of `update.steps` are passed. */
  step: z.int(),
  /** When the phase began. */
  since: z.number(),
  /** The number of replicas beyond those that are wanted, for updates in place. */
  surge: z.int(),
  /** From when the deadline counts. */
  progressAt: z.number(),
  /** The last time at which it was known to count. */
  seenAt: z.number(),
  /** Since when it stands still, and why. */
  stopped: z.object({ reason: z.string(), since: z.number() }).optional(),
  /** Slots that were available at the revision in this attempt. */
  reached: z.array(z.int()),
  /** A replica was Ready with it in this attempt while it was awake. Absent: also where that shows by `reached`. */
  ran: z.literal(true).optional(),
  /** Slots that failed with it in this attempt. */
  failures: z.array(z.object({ slot: z.int(), reason: z.string(), message: z.string().optional() })),
  /** Those that have begun, by step. */
  analyses: z.array(analysis).optional(),
  /** A person has ended it. */
  isAborted: z.literal(true).optional(),
  /** Why it has failed, or was frozen. */
  cause: z.string().optional(),
})
  .optional()
  // What was recorded before there were revisions.
  .catch(undefined);

const schema = z.object({
  /** By slot. Undefined: nothing is known yet, because the object is new, or its state was lost. */
  roster: z.array(entry).optional(),
  /** By slot. */
  volumes: z.array(volume).optional(),
  /** Replicas or volumes were left at the provider when the document was removed. They are searched for if it comes back. */
  left: z.literal(true).optional(),
  /** The number of the revision that the document requires. */
  update: z.int().optional(),
  /** Of that revision, and of the newest Healthy one, if they refer to a ServiceTemplate. */
  taken: z.array(taken).optional(),
  rollout,
  /** Candidates that are not used for a while (placement.ts), in Unix milliseconds. */
  rests: z
    .array(
      z.object({
        candidate: z.string(),
        state: z.enum(['Scarce', 'ModelNotAccepted', 'PriceTooHigh']),
        since: z.number(),
        until: z.number(),
      }),
    )
    .optional(),
  /** A replica moves back: the slot of the old one, that of the new one, and since when (Unix milliseconds). */
  move: z.object({ from: z.int(), to: z.int(), since: z.number() }).optional(),
  /** Unix milliseconds at which moves began in the last hour. */
  moves: z.array(z.number()).optional(),
  /** Moves failed: how many one after the other, and until when none begins (Unix milliseconds). */
  moveRest: z.object({ failures: z.int(), since: z.number(), until: z.number() }).optional(),
  /** When candidates showed a GPU of another model. */
  models: z.array(z.object({ candidate: z.string(), at: z.number() })).optional(),
  /** Unix milliseconds of the last repair. */
  repairedAt: z.number().optional(),
  /**
   * Numbers by the command `scale`: one that stays, then one for a time. `of`: what the document gave then; `until`: Unix
   * milliseconds.
   */
  scaled: z.array(z.object({ replicas: z.int(), of: z.int(), until: z.number().optional() })).optional(),
  /** Removals of the last minute: its start in Unix milliseconds, the number of replicas then, and how many have begun. */
  pace: z.object({ at: z.number(), of: z.number(), begun: z.number() }).optional(),
});

export type FleetState = Readonly<z.output<typeof schema>>;
export type RosterEntry = Readonly<z.output<typeof entry>>;
export type RolloutRecord = NonNullable<FleetState['rollout']>;
export type VolumeEntry = Readonly<z.output<typeof volume>>;
export type AnalysisRecord = Readonly<z.output<typeof analysis>>;
export type TakenEntry = Readonly<z.output<typeof taken>>;
export type ReplicaPlace = Readonly<z.output<typeof place>>;

export const fleetState: KindStateDeclaration<FleetState> = {
  schema,
  owns: ({ roster = [], volumes = [] }) => roster.length + volumes.length > 0,
  // Whoever wrote it could remove replicas. They are found again.
  unsigned: () => ({}),
};
