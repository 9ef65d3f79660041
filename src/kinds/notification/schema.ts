import { z } from 'zod';
import { constrained, given, listOf } from '../../resources/parts/constraints.ts';
import { dataKey, kindSchema, objectName } from '../../resources/parts/fields.ts';
import { labelSelector } from '../../resources/parts/label-selector.ts';
import type { Announcing } from '../../resources/parts/notification.ts';

const mostListed = 64;

const keyOfSecret = (what: string) =>
  z.strictObject({
    secretKeyRef: z
      .strictObject({
        name: objectName.describe('A Secret of the same namespace.'),
        key: dataKey.describe(`The key in it that holds ${what}.`),
      })
      .describe('A key of a Secret.'),
  });

const urlFrom = keyOfSecret('the address, which starts with https://').describe(
  'Where its address is read from. The address may be a secret, so no document has it.',
);

const sink = constrained(
  z.strictObject({
    webhook: z
      .strictObject({
        urlFrom,
        signingKeyFrom: keyOfSecret('the key')
          .optional()
          .describe('Messages are signed with it (HMAC-SHA256, header X-Fleetkeeper-Signature).'),
      })
      .optional()
      .describe('Gets each message as JSON, by POST.'),
    slack: z.strictObject({ urlFrom }).optional().describe('An incoming webhook of Slack.'),
  }),
  {
    holds: ({ webhook, slack }) => (webhook === undefined) !== (slack === undefined),
    rule: 'has(self.webhook) != has(self.slack)',
    schema: given.exactlyOneOf('webhook', 'slack'),
    message: 'needs exactly one of webhook and slack',
  },
);

const name = (what: string) =>
  z
    .string()
    .min(1)
    .max(64)
    .regex(/^[A-Z][A-Za-z0-9]*$/, `must be the name of a ${what}, in CamelCase`);
const listed = <Item extends z.ZodType>(item: Item) =>
  z.array(item).min(1).max(mostListed).meta(listOf.whole).optional();

const match = z.strictObject({
  namespaces: listed(objectName).describe(
    'The namespaces that it is about; default its own. In a cluster, only a Notification in the namespace of the operator may name others.',
  ),
  kinds: listed(name('kind')).describe('Kinds, such as ServiceFleet; default all.'),
  reasons: listed(name('reason')).describe('Reasons, as `fleetkeeper explain` has them; default all.'),
  severities: listed(z.enum(['critical', 'warning', 'info'])).describe('Severities of reasons; default all.'),
  labels: labelSelector('selects by at least one label; without it, all objects are selected')
    .optional()
    .describe('Only objects with these labels.'),
});

const notificationSpec = z.strictObject({
  sink: sink.describe('Who gets the messages.'),
  match: match.prefault({}).describe('What it announces. All of it has to apply.'),
  afterSeconds: z
    .int()
    .min(0)
    .max(86_400)
    .optional()
    .describe(
      'How long a problem has to last before it is announced; default 0 if it is critical, 300 if it is a warning, and never if it is only information.',
    ),
  repeatHours: z
    .int()
    .min(0)
    .max(720)
    .default(24)
    .describe('After how many hours a problem that lasts is announced again; 0: never.'),
  maxPerHour: z
    .int()
    .min(1)
    .max(1000)
    .default(30)
    .describe('How many messages an hour may have. The rest is counted in a digest, each ten minutes.'),
});
export type NotificationSpec = z.infer<typeof notificationSpec>;

export const notificationDocument = kindSchema(
  'Notification',
  notificationSpec,
  'Announces problems of objects to a webhook or to Slack: their beginning once, and their end.',
);

export function announcing({
  sink: { webhook, slack },
  match: wanted,
  ...terms
}: NotificationSpec): Announcing {
  const none = { name: '', key: '' };
  const url = (webhook ?? slack)?.urlFrom.secretKeyRef ?? none;
  const signingKey = webhook?.signingKeyFrom?.secretKeyRef;
  const form = slack ? 'slack' : 'webhook';
  return { terms, match: wanted, sink: { form, url, ...(signingKey ? { signingKey } : {}) } };
}
