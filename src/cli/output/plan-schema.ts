/**
 * The output of `plan --output json`, as `schemas/plan-v1.json` publishes it: for conftest, and other programs that check plans. Within a
 * version, fields are only added, so the published schema allows others than these.
 */
import { z } from 'zod';
import { actions } from '../../actions/index.ts';
import type { FleetPlan } from '../../manager/index.ts';
import { planFileSchema } from '../../plan-file/index.ts';

const text = z.string();
const count = z.int().min(0);
const micros = z.int();

const named = { kind: text, namespace: text, name: text };

const verbs = new Set(Object.values(actions).map(({ verb }) => verb));
const action = z.enum([...verbs, 'scale', 'replace', 'leave', 'protect', 'release'] as const);

const difference = z
  .object({
    path: text.describe('As in the spec, without the values of an environment.'),
    desired: z
      .unknown()
      .describe('What the document asks for. The name of a volume ends with `…` until a state file exists.'),
    observed: z.unknown().describe('What is there. Absent in a creation.'),
    cause: text.optional().describe("Of drift: what the provider's events report."),
    from: text.optional().describe('The Secret, ConfigMap or object that the value is taken from.'),
  })
  .describe('A field that differs.');

const variables = z
  .object({
    added: z.array(text),
    removed: z.array(text),
    changed: z
      .array(text)
      .describe('Empty where nobody knows which values differ: there is a difference of `env` then.'),
  })
  .optional()
  .describe('Names of variables. Values are never shown.');

const cost = z
  .object({
    beforeMicros: micros,
    afterMicros: micros,
    deltaMicros: micros,
    basis: z
      .enum(['observed', 'declared', 'catalog', 'unknown'])
      .describe('With `unknown`, the amounts are too small.'),
  })
  .describe('Micro-USD per hour.');

const change = z.object({
  ...named,
  action: action.describe(
    '`scale`: of a ServiceFleet. `protect`, `release`: of a task. `leave`: the document is gone, and `deletionPolicy: Retain` keeps the thing.',
  ),
  reason: text.describe('As in docs/reference/reasons.md.'),
  drift: z.boolean().describe('Somebody else made the difference.'),
  differences: z.array(difference),
  variables,
  cost: cost.optional().describe('Micro-USD per hour. Absent where nothing changes.'),
  disruptive: z.literal(true).optional().describe('It may interrupt what runs in the service.'),
  overrides: text.optional().describe('The protection that it overrides.'),
  after: z.array(text).optional().describe('Tasks that this plan releases. The change follows then.'),
  destroysData: z
    .literal(true)
    .optional()
    .describe('Data is deleted with the thing; of a ServiceFleet, with replicas that leave or are replaced.'),
  replicas: z
    .array(z.object({ name: text, action: z.enum(['create', 'update', 'replace', 'delete', 'leave']) }))
    .optional()
    .describe('Of a ServiceFleet: what happens in this rollout.'),
});

const held = z.object({
  ...named,
  reason: text.describe('As in docs/reference/reasons.md.'),
  message: text,
  actions: z.array(action).describe('What would be done otherwise.'),
  drift: z.boolean(),
  differences: z.array(difference),
  variables,
});

const budget = z.object({
  namespace: text,
  name: text,
  limit: text.describe(
    'The field of `limits`. With `perObjectHourlyMicros`, the amounts are of the most expensive object.',
  ),
  limitMicros: micros,
  nowMicros: micros,
  thenMicros: micros,
  verdict: z.enum(['ok', 'near', 'exceeded']).describe('Of `thenMicros`.'),
  waiting: z.array(text).describe('Objects that will wait for it.'),
});

const total = z
  .object({
    currency: z.literal('USD'),
    nowHourlyMicros: micros.describe('What everything in the accounts costs, whoever created it.'),
    thenHourlyMicros: micros,
    deltaHourlyMicros: micros,
    unpriced: count.describe('Changes without a known price.'),
    changes: count,
    budgets: z.array(budget).optional(),
  })
  .describe('Micro-USD per hour, of all changes together, without those that are held.');

const summary = z.object({
  create: count,
  update: count,
  replace: count,
  delete: count,
  leave: count,
  held: count,
  drift: count,
  duplicates: count,
  unchanged: count,
  waiting: count.describe('Objects in `unclear`.'),
  problems: count,
  replicas: z
    .object({ create: count, update: count, replace: count, delete: count })
    .optional()
    .describe('Of ServiceFleets, also those that follow later.'),
  unseen: count
    .optional()
    .describe("Objects whose account can't be read. They are counted by `waiting` or `held`, too."),
});

export const planSchema = z.object({
  changes: z
    .array(change)
    .describe('In the order in which an object needs them. An object with several steps has one for each.'),
  held: z.array(held).describe('What is not done now, and why; also what the balance does not cover.'),
  unclear: z
    .array(z.object({ ...named, reason: text, message: text }))
    .describe(
      'Waits, after which something may be done that is not known yet. `apply` and `destroy` ask before it.',
    ),
  duplicates: z
    .array(
      z.object({
        kind: text,
        namespace: text,
        object: text,
        id: text,
        name: text.optional(),
        state: text.optional(),
        hourlyMicros: micros.optional(),
        message: text,
      }),
    )
    .describe("Things that carry an object's mark but are not recorded for it."),
  warnings: z
    .array(z.object({ ...named, rule: text, message: text }))
    .optional()
    .describe('Of the rules of `--policy`.'),
  sameNames: z
    .array(
      z.object({
        ...named,
        account: text,
        id: text.describe('Of the thing that is there.'),
        owner: text.nullable().describe('In its mark; `null` without a mark.'),
        sameKey: z.boolean().describe("The mark was made with this fleet's digest key."),
        hourlyMicros: micros.nullable(),
        message: text,
      }),
    )
    .optional()
    .describe(
      "Creations beside a thing of the same name, without a mark, or with another owner's mark and this digest key. Of folders only.",
    ),
  undeclared: z
    .array(
      z.object({
        kind: text,
        account: text,
        id: text,
        name: text.nullable(),
        hourlyMicros: micros.nullable().describe('`null` without a price.'),
        message: text,
      }),
    )
    .optional()
    .describe(
      "Things with this fleet's mark that no document and no state has. They stay, and change no exit code. Of folders only.",
    ),
  uncompared: z
    .array(z.object(named))
    .optional()
    .describe('Services whose values of `env` can not be compared: their marks are of another digest key.'),
  adopted: z
    .array(
      z.object({
        ...named,
        id: text.describe('Of the thing.'),
        thing: text.nullable().describe('What the API calls it.'),
        owner: text.nullable().describe('In its mark; `null` without a mark.'),
        message: text,
      }),
    )
    .optional()
    .describe(
      'Objects whose documents take over (`adopt`) a thing that this fleet does not have yet. Of folders only.',
    ),
  problems: z
    .array(
      z.object({
        file: text,
        line: z.int().nullable(),
        path: text.nullable(),
        message: text,
        remedy: text,
        object: text.nullable().describe('`Kind/namespace/name`.'),
      }),
    )
    .describe(
      'What is wrong in the documents. With one of them the exit code is 1, as with an unread account, and with an object that is held for its documents alone.',
    ),
  unreadAccounts: z
    .array(
      z.object({
        account: text.nullable().describe('`null`: the one of the environment.'),
        file: text.nullable(),
        line: z.int().nullable(),
        reason: text,
        message: text,
      }),
    )
    .describe(
      'Accounts that could not be read. Their objects are among `unclear`, or `held` if a person has to accept something.',
    ),
  cost: total,
  waitingCosts: z
    .array(z.object({ ...named, reason: text, cost }))
    .optional()
    .describe(
      'What waits and costs more when it continues, or may. `cost` does not have it; `--max-cost-increase` counts it.',
    ),
  summary,
  overlay: z
    .object({
      source: text,
      documents: count,
      dryRun: count.describe('Documents that the API server has checked by a dry run.'),
      builtIn: count.describe('Documents that only the built-in schemas have checked.'),
      unchanged: count.describe('Documents that change nothing.'),
    })
    .optional()
    .describe('Of `--with`: the folder, and how its documents were checked.'),
  partial: z
    .object({
      selected: z.array(z.object(named)),
      included: z.array(z.object(named)).describe('What those need.'),
      omitted: count.describe('Others, which are not planned.'),
    })
    .optional()
    .describe('Of a part of the fleet: what was selected, and what that needs.'),
});

/** The compiler finds a plan that the schema does not describe. */
type Published = z.input<typeof planSchema>;
type DeepReadonly<Value> = Value extends object
  ? { readonly [Key in keyof Value]: DeepReadonly<Value[Key]> }
  : Value;
export type DescribedPlan = FleetPlan extends DeepReadonly<Published> ? FleetPlan : never;

const heading = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  $comment: 'Generated by `fleetkeeper schema`. Do not edit.',
} as const;

/** `isClosed`: it has no other fields than these, as tests of this version require. */
export function planJsonSchema(isClosed: boolean): object {
  const title = 'The output of fleetkeeper plan --output json';
  return { ...heading, title, ...jsonSchema(planSchema, isClosed ? 'output' : 'input') };
}

function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): object {
  const { $schema: _draft, ...json } = z.toJSONSchema(schema, { target: 'draft-7', io });
  return json;
}

/** What programs may check: a plan, and a file of `plan --out`. */
export function planSchemaFiles() {
  const planFile = {
    ...heading,
    title: 'A file of fleetkeeper plan --out',
    ...jsonSchema(planFileSchema, 'input'),
  };
  return [
    { file: 'plan-v1.json', schema: planJsonSchema(false) },
    { file: 'plan-file-v1.json', schema: planFile },
  ].map(({ file, schema }) => ({ file, text: `${JSON.stringify(schema, undefined, 2)}\n` }));
}
