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

test('an object of several accounts is seen when each has been read, and has another pass then', () => {
  const other: { current?: object } = {};
  const handles = [
    { name: 'team/default', informer: { current: {} } },
    { name: 'team/other', informer: other },
  ];
  const fleet = objectKey('ServiceFleet', 'team', 'llm');
  const placement = { candidates: [{ accountRef: { name: 'other' } }] };
  const objects = new Map([[fleet, { spec: { accountRef: { name: 'default' }, placement } }]]);
  const rechecked: string[] = [];
  const manager = {
    accounts: { handles: () => handles },
    snapshot: { objects },
    recheck: (each: string) => rechecked.push(each),
  };
  const store = { record: () => undefined, recordOf: () => undefined };
  const unread = new UnreadYet({ manager: () => manager as never, store, leftMs: () => 60_000 });
  expect(unread.awaits(fleet, blind)).toBe(true);
  expect(unread.awaits(key, { plan: { kind: 'in-sync' } } as PassResult)).toBe(false);
  expect(rechecked).toEqual([]);
  other.current = {};
  unread.awaits(key, { plan: { kind: 'in-sync' } } as PassResult);
  expect(rechecked).toEqual([fleet]);
  expect(unread.awaits(fleet, blind)).toBe(false);
});
