/** What is remembered of a Notification: what is open, as hashes, and how delivery is. */
import { z } from 'zod';
import type { KindStateDeclaration } from '../../resources/parts/kind-state.ts';

const severity = z.enum(['info', 'warning', 'critical']);
const counts = {
  since: z.number(),
  opened: z.number(),
  ended: z.number(),
  reminders: z.number(),
  happened: z.number(),
  beyond: z.number(),
};

const message = z.object({
  type: z.enum(['opened', 'reminder', 'ended']),
  at: z.number(),
  count: z.number(),
  hashes: z.array(z.string()).readonly().optional(),
});

const announcement = z.object({
  id: z.string(),
  reason: z.string(),
  severity,
  account: z.string().optional(),
  since: z.number(),
  at: z.number(),
  made: z.number(),
  begun: z.boolean(),
  open: z.array(z.string()).readonly(),
  absent: z.record(z.string(), z.number()),
  message: message.optional(),
});

const occurrence = z.object({
  id: z.string(),
  at: z.number(),
  reason: z.string().optional(),
  account: z.string().optional(),
  hash: z.string().optional(),
});

/** See resources/parts/notification.ts. */
const schema = z.object({
  announcements: z.array(announcement).readonly().optional(),
  happened: z.array(occurrence).readonly().optional(),
  hour: z.object({ at: z.number(), made: z.number() }).optional(),
  digest: z.object(counts).optional(),
  digestMessage: z.object({ ...counts, at: z.number() }).optional(),
  beyond: z.number().optional(),
  lastDeliveredAt: z.number().optional(),
  failures: z.number().optional(),
  failingSince: z.number().optional(),
  failure: z.string().optional(),
  dropped: z.number().optional(),
});

export type NotificationState = Readonly<z.output<typeof schema>>;

export const notificationState: KindStateDeclaration<NotificationState> = {
  schema,
  /** What somebody else has written would silence it. All that is open is announced anew. */
  unsigned: () => ({}),
};
