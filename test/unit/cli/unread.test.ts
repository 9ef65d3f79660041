/** What a plan takes for the result of an object: nothing that was found before its own account was read. */
import { expect, test } from 'vitest';
import { UnreadYet } from '../../../src/cli/change/unread.ts';
import type { PassResult } from '../../../src/engine/index.ts';
import { objectKey } from '../../../src/resources/index.ts';

const key = objectKey('ContainerService', 'team', 'web');
const failure = { outcome: { kind: 'refused', status: 503, code: 'busy', message: '' } };

/** The account of the other namespace has been read. */
function unreadYet(own: object): UnreadYet {
  const handles = [
    { name: 'default/default', informer: { current: {} } },
    { name: 'team/default', informer: own },
  ];
  const object = { spec: { accountRef: { name: 'default' } } };
  const manager = { accounts: { handles: () => handles }, snapshot: { objects: new Map([[key, object]]) } };
  const store = { record: () => undefined, recordOf: () => undefined };
  return new UnreadYet({ manager: () => manager as never, store, leftMs: () => 60_000 });
}

const blind = { plan: { kind: 'wait', reason: 'AwaitingObservation', message: '' } } as PassResult;

test('a pass before the first read of the account does not count, and leaves no answer at the end', () => {
  const unread = unreadYet({});
  expect([unread.awaits(key, blind), unread.results.size]).toEqual([true, 0]);
});

test('after a read, it is the answer; after a failure that may pass, it is only the last one', () => {
  expect(unreadYet({ current: {} }).awaits(key, blind)).toBe(false);
  const unread = unreadYet({ failure });
  expect([unread.awaits(key, blind), unread.results.size]).toEqual([true, 1]);
});
