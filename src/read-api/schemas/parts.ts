/** What several answers of the read API have in common. Their shape only grows. */
import { z } from 'zod';

/** Worst first: a folded node of the tree shows the worst one below it. What is suspended, stale or unknown is never Healthy. */
export const healths = [
  'Down',
  'Held',
  'Unknown',
  'Stale',
  'Waiting',
  'Suspended',
  'Deleting',
  'Working',
  'Healthy',
] as const;
export type Health = (typeof healths)[number];

export const health = z
  .enum(healths)
  .describe(
    'Down: observed, and not usable. Held: a person has to change something. Unknown: not observed yet. Stale: its account was not read lately. ' +
      'Suspended: paused, outside a window, or stopped by a brake.',
  );

export const time = z.iso.datetime().describe('RFC 3339 in UTC.');
export const micros = z.int().describe('Micro-USD.');
export const objectKeyText = z.string().describe('KIND/NAMESPACE/NAME.');
export const text = z.string();

/** Times are parts of their own, so that a page can show them in the zone of its reader. */
export const sentence = z
  .object({
    text: text.describe('All of it, with times in UTC.'),
    parts: z.array(z.union([z.object({ text }), z.object({ time })])),
    answer: text.nullable().describe('What the provider answered last to what is tried again.'),
  })
  .describe('What the object does or waits for, since when, and what follows.');
export type Sentence = z.infer<typeof sentence>;

export const row = z
  .object({
    key: objectKeyText,
    kind: text,
    namespace: text,
    name: text,
    health,
    severity: z.enum(['info', 'warning', 'critical']),
    reason: text.describe('As `fleetkeeper explain` has it.'),
    since: time.nullable().describe('Since when it has been so.'),
    turn: z.enum(['user', 'provider', 'fleetkeeper']).nullable().describe('Who can bring it forward.'),
    sentence,
    state: text.nullable().describe('As the provider shows it, or that it is being deleted.'),
    account: text.nullable().describe('NAMESPACE/NAME.'),
    fleet: objectKeyText.nullable().describe('The object that owns it.'),
    region: text.nullable(),
    geography: text.nullable(),
    hourlyMicros: micros.nullable().describe('What it costs in an hour now.'),
    protected: z.boolean().describe('An activity keeps a disruptive change waiting.'),
    drift: z.int().describe('Fields that somebody else changed.'),
    refusals: z.int().describe('Refusals in a row of what it waits for.'),
    replicas: z
      .object({ desired: z.int(), ready: z.int(), available: z.int() })
      .nullable()
      .describe('Of a ServiceFleet.'),
  })
  .meta({ id: 'Object', description: 'An object in a list.' });
export type Row = z.infer<typeof row>;

export const intent = z
  .object({
    object: objectKeyText,
    account: text.nullable(),
    at: time,
    action: text,
    why: text
      .nullable()
      .describe('The reason with the fields, as text; null: an earlier version recorded it.'),
    reason: text.nullable().describe('Why, as `fleetkeeper explain` has it.'),
    fields: z
      .array(text)
      .max(5)
      .describe('Those that it brings to their desired values; none: the whole thing.'),
    askedBy: text.describe('Who asked: an edit, a restart token, a rollout, a scale, a Budget, drift.'),
    outcome: text.describe('event: an Event of Kubernetes; `action` is its reason, and `note` its message.'),
    finishedAt: time.nullable(),
    durationMs: z.int().nullable(),
    targetId: text.nullable(),
    idempotencyKey: text,
    generation: z.int(),
    note: text.nullable().describe('A message of the API or the network.'),
  })
  .meta({ id: 'Mutation', description: 'One request that was to change something.' });
export type ShownIntent = z.infer<typeof intent>;

export const problem = z
  .object({
    id: text,
    reason: text,
    severity: z.enum(['warning', 'critical']),
    account: text.nullable(),
    state: z
      .enum(['Open', 'Pending'])
      .describe(
        'Pending: it does not last long yet, and only a person can end it. Notifications are about Open ones.',
      ),
    count: z.int().describe('Objects, places in documents, or 1 for the manager itself.'),
    since: time.nullable().describe('Of the first of them; null: it is not known.'),
    objects: z
      .array(objectKeyText)
      .max(5)
      .describe('The first of them; none: documents that are none of an object, or the manager itself.'),
    health: health.describe('Of the first one.'),
    message: text.describe('Of the first one.'),
    mistakes: z
      .array(z.object({ place: text, message: text, remedy: text }))
      .describe('Of documents that are none of an object: the first ones, with file and line.'),
    answer: text.nullable().describe('What the provider answered last, if it is asked again and again.'),
    meaning: text,
    remedy: text,
    turn: z.enum(['user', 'provider', 'fleetkeeper']),
    docs: text.describe('A section of the documentation.'),
    command: text.describe('Shows more of the first one.'),
  })
  .meta({
    id: 'Problem',
    description: 'Objects of one account with the same reason, for longer than its severity allows.',
  });
export type Problem = z.infer<typeof problem>;

export const page = <Item extends z.ZodType>(item: Item) =>
  z.object({
    items: z.array(item).max(200),
    next: text
      .nullable()
      .describe('The cursor of the next page, for 10 minutes; null: this is the last one.'),
  });

export const errorAnswer = z.object({ error: z.object({ code: text, message: text }) }).meta({ id: 'Error' });
