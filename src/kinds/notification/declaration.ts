/** Notification: what all of the code may know of the kind. */
import { z } from 'zod';
import * as columns from '../../resources/parts/columns.ts';
import { declareKind } from '../../resources/parts/declaration.ts';
import * as status from '../../resources/parts/status.ts';
import { notificationHints } from './schema-hints.ts';
import { announcing, notificationDocument } from './schema.ts';
import { notificationState } from './state.ts';

export const notification = declareKind({
  name: 'Notification',
  plural: 'notifications',
  shortName: 'fntf',
  noun: 'notification',
  document: notificationDocument,
  hints: notificationHints,
  alsoCalled: ['Alert', 'AlertmanagerConfig', 'Receiver'],
  home: 'accountRef',
  countsForBrake: false,
  announces: announcing,
  data: (spec) => {
    const { url, signingKey } = announcing(spec).sink;
    return [url, ...(signingKey ? [signingKey] : [])].map(({ name, key }) => ({
      kind: 'Secret',
      name,
      keys: [key],
    }));
  },
  state: notificationState,
  columns: [
    columns.whole('Open', '.status.open', 'Problems that are open.'),
    columns.age('Delivered', '.status.lastDeliveredAt', 'Since the last message was accepted.'),
    columns.ready,
    columns.created,
    columns.wide(columns.whole('Failures', '.status.failures', 'Attempts that failed since then.')),
    columns.wide(columns.whole('Dropped', '.status.dropped', 'Messages that were given up.')),
    columns.reason,
  ],
  selectable: [],
  status: z.object({
    ...status.common(),
    open: status.count.describe('Problems that are open, and concern it.'),
    lastDeliveredAt: status.time.describe('When its sink last accepted a message.'),
    failures: status.count.describe('Attempts that failed since then.'),
    dropped: status.count.describe('Messages that were given up after an hour, or because too many waited.'),
  }),
  transitions: [],
});
