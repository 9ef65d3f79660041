/**
 * `status` of each kind, as src/status/ writes it. The API server would drop a missing field, and refuse a status
 * beyond a bound. So what the provider shows is bounded by its type only.
 */
import { z } from 'zod';
import { conditionTypes } from './conditions.ts';
import { listOf } from './constraints.ts';

export const text = z.string().optional();
/** That a rule compares: it has to have a bound, that of `providerText`. */
export const shownText = z.string().max(500).optional();
export const count = z.int().optional();
export const time = z.iso.datetime({ offset: true }).optional();
export const micros = (what: string) => z.int().optional().describe(`${what}, in micro-USD.`);

/** `metav1.Condition`. */
const condition = z
  .object({
    type: z
      .string()
      .max(316)
      .regex(
        /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$/,
      )
      .describe(`One of ${conditionTypes.join(', ')}.`),
    status: z.enum(['True', 'False', 'Unknown']).describe('Whether it is so.'),
    reason: z
      .string()
      .min(1)
      .max(1024)
      .regex(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/)
      .describe('Why, as a constant.'),
    message: z.string().max(32_768).describe('Why, for people.'),
    lastTransitionTime: z.iso.datetime({ offset: true }).describe('When its status changed last.'),
    observedGeneration: z.int().min(0).optional().describe('Of the spec that it is about.'),
  })
  .describe('One aspect of the state that the object is in.');

const driftEntry = z
  .object({
    path: z.string().describe('The field; env.NAME for a variable.'),
    kind: z
      .string()
      .describe(
        'Changed: the API shows another value than was applied; Missing: the whole was deleted; RevisionMoved: a field that the API hides may have been changed.',
      ),
    desired: z
      .unknown()
      .optional()
      .describe('As declared; never the value of an environment or a credential.'),
    observed: z.unknown().optional().describe('As the API shows it.'),
    since: z.iso.datetime({ offset: true }).describe('When it was first seen.'),
    cause: text.describe("Quotes of the provider's events about it."),
  })
  .describe('Something that somebody else changed.');

export function common() {
  return {
    observedGeneration: count.describe('The generation of the spec that this status is about.'),
    id: text.describe('Its id at the provider.'),
    revision: count.describe('Its revision at the provider, as last read.'),
    conditions: z
      .array(condition)
      .max(32)
      .meta(listOf.entriesBy('type'))
      .optional()
      .describe('How it is, after the Kubernetes API conventions.'),
    drift: z
      .array(driftEntry)
      .meta(listOf.whole)
      .optional()
      .describe('What somebody else changed, by field.'),
    duplicates: z
      .array(
        z
          .object({
            id: z.string().describe('Its id at the provider.'),
            name: text.describe('Its name, as the provider shows it.'),
            state: text.describe('Its state, as the provider shows it.'),
            hourlyMicros: micros('What it costs in an hour'),
          })
          .describe('A copy, or a second one.'),
      )
      .meta(listOf.whole)
      .optional()
      .describe("What carries the object's mark and is not what is recorded for it. It is not touched."),
    lastMutation: z
      .object({
        action: z.string().describe('What was asked for, such as create-service.'),
        idempotencyKey: z.string().describe('The Idempotency-Key that it was sent with.'),
        at: z.iso.datetime({ offset: true }).describe('When it was written down, to be sent then.'),
        outcome: z
          .string()
          .describe(
            'pending, applied, refused, not-sent, unknown; after it was unknown not-applied, outdated (its revision has moved), or repeatable (the same request is sent again).',
          ),
        reason: text.describe('Why, as plans show it: SpecChanged.'),
        askedBy: text.describe('Who asked for it: an edit, a rollout, drift.'),
      })
      .optional()
      .describe('The last request that was to change something.'),
    lastHandledReconcileAt: text.describe(
      'The value of the annotation fleetkeeper.dev/reconcile-at that was acted upon; of one with more than 256 characters, `sha256:` and its digest.',
    ),
    bookkeeping: z
      .looseObject({})
      .meta({ 'x-kubernetes-preserve-unknown-fields': true })
      .optional()
      .describe('What the manager has to remember. Not for others; changing it can cost a second machine.'),
  };
}

export const templateOutdated = z
  .array(z.string())
  .meta(listOf.whole)
  .optional()
  .describe('Fields for which the template gives other values now.');

export const state = (noun: string) => text.describe(`The state of the ${noun}, as the provider shows it.`);

export const quota = z
  .object({
    used: z.int().describe('How many there are.'),
    limit: z.int().describe('How many there may be.'),
  })
  .optional();

/** Of a kind that takes operator commands. */
export const lastHandledCommand = z
  .object({
    command: z.string().describe('Its text.'),
    at: z.iso.datetime({ offset: true }).describe('When it was decided on.'),
    result: z
      .string()
      .describe('Done: it was carried out; Outdated: what it names had changed before, so nothing was done.'),
    message: z.string().describe('What was done, or why nothing was done.'),
  })
  .optional()
  .describe('The last operator command. The same text is not carried out twice in a row.');
