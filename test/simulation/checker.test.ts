/** What the checker knows, where a seed comes to it seldom. */
import { digestKey } from '../../src/base/index.ts';
import type { Intent } from '../../src/state/index.ts';
import { expect, test } from 'vitest';
import { intentOf, recordOf, trainer } from '../unit/state/support.ts';
import { Disk } from './disk.ts';
import { deletionInvariants } from './invariants/deletion.ts';
import type { Plane } from './plane.ts';
import type { View } from './watch.ts';

/** What is said when a service with `Retain` is forgotten, whose creation made `made`, and which is kept as `kept`. */
function saidWhenForgotten(kept: Partial<Intent>, known: string | undefined): string[] {
  const disk = new Disk({ digestKey: digestKey(Buffer.alloc(32, 7)), ownerName: 'a', ownerConfirmed: true });
  const manifest = { annotations: {}, labels: {}, spec: { deletionPolicy: 'Retain' } };
  const records = [recordOf(trainer, { manifest })];
  const intent = intentOf(trainer, 'key', { action: 'create-service', ...kept });
  disk.write({ kind: 'save', records, intent, text: JSON.stringify({ records, intent }) });
  const said: string[] = [];
  const view: Partial<View> = {
    disk,
    plane: { isUp: true } as Plane,
    history: () => [],
    isOpen: ({ outcome }) => outcome === 'unknown',
    knowsMade: (object, key, id) => object === trainer && key === 'key' && id === known,
    violated: (invariant) => void said.push(invariant),
  };
  const watchers = deletionInvariants.map((invariant) => invariant(view as View));
  const reply = { status: 201, retryAfter: undefined, body: JSON.stringify({ id: 'made' }) };
  const delivery = { method: 'POST', path: '/api/services', key: 'key', text: undefined, isForeign: false };
  for (const watcher of watchers) watcher.delivered?.({ ...delivery, reply });
  for (const watcher of watchers) watcher.durable?.({ kind: 'remove', key: trainer });
  return said;
}

test('a service whose creation is known to have made what stays may be forgotten, although that was not written down', () => {
  expect(saidWhenForgotten({ outcome: 'unknown' }, 'made')).toEqual([]);
});

test.each([
  ['nobody knows what its creation made', undefined],
  ['another thing is taken for what its creation made', 'other'],
])('a service is not to be forgotten when %s', (_, known) => {
  expect(saidWhenForgotten({ outcome: 'unknown' }, known)).toEqual(['S13']);
});
