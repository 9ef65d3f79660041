import * as fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { digestKey } from '../../../../src/base/index.ts';
import { following, type DesiredSnapshot } from '../../../../src/desired/index.ts';
import { isMassChange, isSuspiciousRead, massChangeLimit } from '../../../../src/engine/plan/index.ts';
import { Admission, type Admitted } from '../../../../src/engine/admission/admission.ts';
import { wholeSource } from '../../../../src/engine/fleet/fleet.ts';
import type { ObjectKey } from '../../../../src/resources/index.ts';
import { oneShotGrace } from '../../../../src/engine/index.ts';
import { MemoryStore, type ObjectRecord } from '../../../../src/state/index.ts';
import { desiredOf, serviceDocument } from '../../../support/desired.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const graceMs = 5000;
const grace = { goneMs: graceMs, partlyMs: 60_000, whollyMs: 300_000, lostMs: 240_000 };
let clock: ManualClock;
let store: MemoryStore;
let admission: Admission;
let allowed: boolean;
let last: DesiredSnapshot | undefined;

function restart(): void {
  admission = new Admission({ store, clock, grace, massChangeAllowed: () => allowed });
}

beforeEach(() => {
  clock = new ManualClock();
  store = new MemoryStore({ digestKey: digestKey(Buffer.alloc(32, 7)), ownerName: 'laptop' }, [], []);
  allowed = false;
  last = undefined;
  restart();
});

function keyOf(name: string): ObjectKey {
  return `ContainerService/default/${name}`;
}

function named(count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, index) => `s${index + from}`);
}

/** Admits a folder that holds these services, a file each. */
async function admit(
  names: readonly string[],
  more: Record<string, string> = {},
  folders: readonly string[] = [],
): Promise<Admitted> {
  const files = Object.fromEntries(names.map((name) => [`${name}.yaml`, serviceDocument(name)]));
  const read = desiredOf({ ...files, ...more }, folders);
  last = last ? following(last, read) : read;
  const { admitted, durable } = admission.admit(last);
  await durable;
  return admitted;
}

/** Admits twice, with the grace between. */
async function admitForGood(names: readonly string[], more?: Record<string, string>): Promise<Admitted> {
  await admit(names, more);
  await clock.advance(graceMs);
  return admit(names, more);
}

/** What is marked for deletion. */
function marked(): string[] {
  const gone = [...store.records()].filter((record) => record.deletionRequestedAt !== undefined);
  return gone.map((record) => record.key.split('/')[2] ?? '').sort();
}

describe('an object that is gone from the source', () => {
  test('is marked once it has been gone for the grace, and not before', async () => {
    await admit(['a', 'b']);
    const first = await admit(['a']);
    expect(first).toMatchObject({ changed: [], againAfterMs: graceMs, brakes: new Map() });
    expect(first.lingering.get(keyOf('b'))).toMatchObject({ kind: 'wait', reason: 'Leaving' });
    await clock.advance(graceMs - 1);
    expect(await admit(['a'])).toMatchObject({ changed: [], againAfterMs: 1 });
    expect(marked()).toEqual([]);
    await clock.advance(1);
    expect(await admit(['a'])).toMatchObject({ changed: [keyOf('b')], againAfterMs: undefined });
    expect(store.record(keyOf('b'))?.deletionRequestedAt).toBe(clock.wallMs());
    expect(marked()).toEqual(['b']);
  });

  test('and is back within the grace was never gone', async () => {
    await admit(['a', 'b']);
    const before = store.record(keyOf('b'));
    await admit(['a']);
    await clock.advance(graceMs - 1);
    expect(await admit(['a', 'b'])).toMatchObject({ changed: [], againAfterMs: undefined });
    expect(store.record(keyOf('b'))).toEqual(before);
    await admit(['a']);
    await clock.advance(graceMs - 1);
    await admit(['a']);
    expect(marked()).toEqual([]);
  });

  test('is gone by what readings show, and not by what time it is when they are taken in', async () => {
    const shows = (names: readonly string[], readAtMs: number) =>
      admission.admit({
        ...desiredOf(Object.fromEntries(names.map((name) => [`${name}.yaml`, serviceDocument(name)]))),
        readAtMs,
      });
    const beganMs = clock.monotonicMs();
    await shows(['a', 'b'], beganMs).durable;
    await shows(['a'], beganMs).durable;
    await clock.advance(10 * graceMs);
    await shows(['a'], beganMs + graceMs - 1).durable;
    expect(marked()).toEqual([]);
    await shows(['a'], beganMs + graceMs).durable;
    expect(marked()).toEqual(['b']);
  });

  test('is marked once: later looks change nothing', async () => {
    await admit(['a', 'b']);
    await admitForGood(['a']);
    const [record] = [store.record(keyOf('b'))];
    expect(await admitForGood(['a'])).toMatchObject({
      changed: [],
      againAfterMs: undefined,
      lingering: new Map(),
    });
    expect(store.record(keyOf('b'))).toEqual(record);
  });

  test('loses its mark when it comes back, and keeps its generation', async () => {
    await admit(['a', 'b']);
    await admitForGood(['a']);
    expect(await admit(['a', 'b'])).toMatchObject({ changed: [keyOf('b')] });
    expect(store.record(keyOf('b'))).toMatchObject({ deletionRequestedAt: undefined, generation: 1 });
  });

  test('is given its whole grace again by a new process', async () => {
    await admit(['a', 'b']);
    await admit(['a']);
    await clock.advance(graceMs);
    restart();
    expect(await admit(['a'])).toMatchObject({ changed: [], againAfterMs: graceMs });
  });

  test('is not gone while its document is there and can not be used', async () => {
    await admit(['a', 'b']);
    const broken = { 'b.yaml': serviceDocument('b', ['colour: blue']) };
    expect((await admitForGood(['a'], broken)).lingering).toEqual(new Map());
    expect(marked()).toEqual([]);
  });
});

describe('a source that could not be read whole', () => {
  test('takes nothing as gone, and says which file to mend', async () => {
    await admit(['a', 'b']);
    const admitted = await admitForGood(['a'], { 'broken.yaml': 'kind: [' });
    expect(marked()).toEqual([]);
    expect([...admitted.lingering.keys()]).toEqual([keyOf('b')]);
    expect(admitted.lingering.get(keyOf('b'))).toMatchObject({
      kind: 'hold',
      reason: 'SourceIncomplete',
      message: expect.stringContaining('broken.yaml'),
    });
    expect(admitted.brakes.get(wholeSource)).toBeUndefined();
  });

  test('is believed in what it shows', async () => {
    expect(await admit(['a'], { 'broken.yaml': 'kind: [' })).toMatchObject({ changed: [keyOf('a')] });
  });
});

describe('a file that is still there and has lost documents', () => {
  const together = (...names: string[]) => ({
    'web.yaml': names.map((name) => serviceDocument(name)).join('---\n'),
  });
  const others = ['x', 'y'];
  const start = () => admit(others, together('a', 'b'));

  test('an empty one takes nothing as gone until it has been quiet for minutes', async () => {
    await start();
    for (const nothing of ['', '# here was something\n', '---\n']) {
      expect((await admit(others, { 'web.yaml': nothing })).lingering.get(keyOf('a'))).toMatchObject({
        kind: 'hold',
        reason: 'SourceIncomplete',
        message: expect.stringMatching(
          /^web.yaml still exists, but no longer contains a document.*300 s.*remove the file/,
        ),
      });
      await clock.advance(grace.whollyMs - 1);
      expect(await admit(others, { 'web.yaml': nothing })).toMatchObject({ changed: [], againAfterMs: 1 });
    }
    expect(marked()).toEqual([]);
    await clock.advance(1);
    await admit(others, { 'web.yaml': '---\n' });
    expect(marked()).toEqual(['a', 'b']);
  });

  test('one that ends between two documents takes the rest as gone when it has been quiet for a minute', async () => {
    await start();
    const cut = { 'web.yaml': serviceDocument('a') };
    expect((await admit(others, cut)).lingering.get(keyOf('b'))).toMatchObject({
      kind: 'wait',
      reason: 'SourceIncomplete',
      message: expect.stringContaining('has not changed for 60 s'),
    });
    await clock.advance(grace.partlyMs - 1);
    // Somebody still writes it.
    await admit(others, { 'web.yaml': `${serviceDocument('a')}# and` });
    await clock.advance(grace.partlyMs - 1);
    await admit(others, { 'web.yaml': `${serviceDocument('a')}# and` });
    expect(marked()).toEqual([]);
    await clock.advance(1);
    await admit(others, { 'web.yaml': `${serviceDocument('a')}# and` });
    expect(marked()).toEqual(['b']);
  });

  test('is as if nothing had been when it is whole again', async () => {
    await start();
    await admit(others, { 'web.yaml': '' });
    await clock.advance(grace.partlyMs);
    expect((await admit(others, together('a', 'b'))).lingering).toEqual(new Map());
    await admit(others, { 'web.yaml': '' });
    await clock.advance(grace.whollyMs - 1);
    await admit(others, { 'web.yaml': '' });
    expect(marked()).toEqual([]);
  });

  test('and is removed in the end is gone as fast as any other', async () => {
    await start();
    await admit(others, { 'web.yaml': '' });
    await clock.advance(grace.partlyMs);
    expect(await admit(others)).toMatchObject({ againAfterMs: graceMs });
    await clock.advance(graceMs);
    await admit(others);
    expect(marked()).toEqual(['a', 'b']);
  });

  test('keeps nothing waiting that went with its own file', async () => {
    await start();
    expect(await admit(['x'], { 'web.yaml': '' })).toMatchObject({ againAfterMs: graceMs });
    await clock.advance(graceMs);
    await admit(['x'], { 'web.yaml': '' });
    expect(marked()).toEqual(['y']);
  });

  test('has lost nothing when its documents are in another one', async () => {
    await start();
    const moved = { 'web.yaml': '', 'b.yaml': serviceDocument('b') };
    expect([...(await admit([...others, 'a'], moved)).lingering]).toEqual([]);
    await clock.advance(grace.whollyMs);
    await admit([...others, 'a'], moved);
    expect(marked()).toEqual([]);
  });

  test('is found so by the next process, too, and its time begins anew', async () => {
    await start();
    await admit(others, { 'web.yaml': '' });
    await clock.advance(grace.whollyMs - 1);
    restart();
    await admit(others, { 'web.yaml': '' });
    await clock.advance(grace.whollyMs - 1);
    await admit(others, { 'web.yaml': '' });
    expect(marked()).toEqual([]);
  });

  test('is meant when a person says so', async () => {
    await start();
    await admit(others, { 'web.yaml': '' });
    allowed = true;
    await clock.advance(graceMs);
    await admit(others, { 'web.yaml': '' });
    expect(marked()).toEqual(['a', 'b']);
  });

  test('what is read once takes a removed document as gone, and an empty file only when a person says so', async () => {
    await start();
    admission = new Admission({ store, clock, grace: oneShotGrace, massChangeAllowed: () => allowed });
    expect((await admit(others, { 'web.yaml': '' })).lingering.get(keyOf('b'))?.message).toMatch(
      /It is not deleted.*`fleetkeeper apply --allow-mass-change`/,
    );
    expect(marked()).toEqual([]);
    await admit(others, { 'web.yaml': serviceDocument('a') });
    expect(marked()).toEqual(['b']);
  });
});

describe('a folder below the source', () => {
  const others = ['x', 'y'];
  const file = { 'team/web.yaml': serviceDocument('a') };
  const start = () => admit(others, file, ['team']);

  test('that still exists without a document takes nothing as gone for minutes: it may not be mounted', async () => {
    await start();
    expect((await admit(others, {}, ['team'])).lingering.get(keyOf('a'))).toMatchObject({
      kind: 'hold',
      reason: 'SourceIncomplete',
      message: expect.stringMatching(
        /^the folder team still exists, but has no document.*240 s.*remove the folder/,
      ),
    });
    await clock.advance(grace.lostMs - 1);
    expect(await admit(others, {}, ['team'])).toMatchObject({ changed: [], againAfterMs: 1 });
    await admit(others, file, ['team']);
    await admit(others, {}, ['team']);
    expect(marked()).toEqual([]);
    await clock.advance(grace.lostMs);
    await admit(others, {}, ['team']);
    expect(marked()).toEqual(['a']);
  });

  test('that is gone with its documents takes them as gone after a minute: another branch may be checked out', async () => {
    await start();
    expect((await admit(others)).lingering.get(keyOf('a'))).toMatchObject({
      kind: 'wait',
      reason: 'SourceIncomplete',
      message: expect.stringMatching(/^the folder team is gone with all of its documents.*60 s/),
    });
    await clock.advance(grace.partlyMs - 1);
    expect(await admit(others)).toMatchObject({ changed: [] });
    await clock.advance(1);
    await admit(others);
    expect(marked()).toEqual(['a']);
  });

  test('whose folders are gone with what was mounted above them counts as one that is not mounted', async () => {
    const deep = { 'prod/eu/web.yaml': serviceDocument('a') };
    await admit(others, deep, ['prod', 'prod/eu']);
    expect((await admit(others, {}, ['prod'])).lingering.get(keyOf('a'))).toMatchObject({
      kind: 'hold',
      message: expect.stringMatching(/^the folder prod still exists/),
    });
    await clock.advance(grace.lostMs - 1);
    await admit(others, {}, ['prod']);
    expect(marked()).toEqual([]);
  });

  test('that still has another document loses a file as the source does', async () => {
    const both = { ...file, 'team/deeper/other.yaml': serviceDocument('b') };
    await admit(others, both, ['team', 'team/deeper']);
    const one = { 'team/deeper/other.yaml': serviceDocument('b') };
    expect(await admit(others, one, ['team', 'team/deeper'])).toMatchObject({ againAfterMs: graceMs });
    await clock.advance(graceMs);
    await admit(others, one, ['team', 'team/deeper']);
    expect(marked()).toEqual(['a']);
  });

  test('is meant to be gone when a person confirms it, or sees it before', async () => {
    await start();
    allowed = true;
    expect(await admit(others, {}, ['team'])).toMatchObject({ againAfterMs: graceMs });
    admission = new Admission({ store, clock, grace: oneShotGrace, massChangeAllowed: () => false });
    await admit(others, {}, ['team']);
    expect(marked()).toEqual(['a']);
  });
});

describe('a service that leaves together with the task that protects it', () => {
  const task = [
    'apiVersion: fleetkeeper.dev/v1alpha1',
    'kind: ProtectedTask',
    'metadata: {name: epoch}',
    'spec: {serviceRef: {name: a}}',
    '',
  ].join('\n');
  const start = () => admit(['a', 'x', 'y'], { 'epoch.yaml': task });

  test('is kept with its task for minutes', async () => {
    await start();
    const { lingering } = await admit(['x', 'y']);
    for (const key of [keyOf('a'), 'ProtectedTask/default/epoch'] as const) {
      expect(lingering.get(key)).toMatchObject({
        kind: 'hold',
        reason: 'SourceIncomplete',
        message: expect.stringMatching(/the task that protects it have left the source together.*240 s/),
      });
    }
    await clock.advance(grace.lostMs - 1);
    await admit(['x', 'y']);
    expect(marked()).toEqual([]);
    await clock.advance(1);
    await admit(['x', 'y']);
    expect(marked()).toEqual(['a', 'epoch']);
  });

  test('is kept as long where one of the two was in a file that still has others', async () => {
    const shared = serviceDocument('z');
    await admit(['x', 'y'], {
      'shared.yaml': [shared, serviceDocument('a')].join('---\n'),
      'epoch.yaml': task,
    });
    const gone = { 'shared.yaml': shared };
    await admit(['x', 'y'], gone);
    for (const waitMs of [graceMs, grace.partlyMs, grace.lostMs - grace.partlyMs - graceMs - 1]) {
      await clock.advance(waitMs);
      await admit(['x', 'y'], gone);
      expect(marked()).toEqual([]);
    }
    await clock.advance(1);
    await admit(['x', 'y'], gone);
    expect(marked()).toEqual(['a', 'epoch']);
  });

  test('is deleted as any other once its task has left alone', async () => {
    await start();
    await admitForGood(['a', 'x', 'y']);
    expect(marked()).toEqual(['epoch']);
    await store.remove('ProtectedTask/default/epoch');
    await admit(['x', 'y']);
    await clock.advance(graceMs);
    await admit(['x', 'y']);
    expect(marked()).toEqual(['a']);
  });
});

describe('a registered task that leaves alone', () => {
  const epoch: ObjectKey = 'ProtectedTask/default/epoch';
  const document = (ends = '') =>
    [
      'apiVersion: fleetkeeper.dev/v1alpha1',
      'kind: ProtectedTask',
      'metadata: {name: epoch}',
      `spec: {serviceRef: {name: a}${ends}}`,
      '',
    ].join('\n');
  const withImage = (image: string) => serviceDocument('a').replace(/image: .*/, `image: ${image}`);

  const record = (key: ObjectKey): ObjectRecord => {
    const known = store.record(key);
    if (!known) throw new Error(`no record of ${key}`);
    return known;
  };
  /** What a pass over the service last reported. */
  const report = async (reason?: string, readyReason = 'Running') => {
    const key = keyOf('a');
    const ready = { reason: readyReason, since: clock.wallMs() };
    const pending = reason === undefined ? undefined : { reason, since: clock.wallMs() };
    const more = { ready, drift: [], linked: [], reconcileAt: undefined };
    await store.save({ ...record(key), report: { pending, ...more } });
  };
  const start = async (ends = '') => {
    await admit(['a', 'x', 'y'], { 'epoch.yaml': document(ends) });
    const registration = { serviceId: 'svc-1', activityId: record(epoch).uid, releaseKey: 'release-1' };
    await store.save({ ...record(epoch), kind: { registration } });
    await report();
  };
  const held = {
    kind: 'hold',
    reason: 'SourceIncomplete',
    message: expect.stringMatching(
      /change of the service that it protects waits.*240 s.*`released: true`, or/,
    ),
  };

  test('is over at once while nothing waits for it', async () => {
    await start();
    await admitForGood(['a', 'x', 'y']);
    expect(marked()).toEqual(['epoch']);
  });

  test.each(['Protected', 'OutsideWindow', 'AwaitsTurn', 'Draining'])(
    'is kept for minutes while its service waits as %s',
    async (reason) => {
      await start();
      await report(reason);
      expect((await admit(['a', 'x', 'y'])).lingering.get(epoch)).toMatchObject(held);
      // What waits may be out of sight, as during an outage.
      await report('AccountUnreachable');
      await clock.advance(grace.lostMs - 1);
      await admit(['a', 'x', 'y']);
      expect(marked()).toEqual([]);
      await clock.advance(1);
      await admit(['a', 'x', 'y']);
      expect(marked()).toEqual(['epoch']);
    },
  );

  test('is kept for minutes when the document of its service changes with it, as on another branch', async () => {
    await start();
    const other = { 'a.yaml': withImage('ghcr.io/acme/app:0') };
    expect((await admit(['x', 'y'], other)).lingering.get(epoch)).toMatchObject(held);
    await clock.advance(graceMs);
    await admit(['x', 'y'], other);
    expect(marked()).toEqual([]);
    await admit(['a', 'x', 'y'], { 'epoch.yaml': document() });
    await report();
    await admitForGood(['a', 'x', 'y']);
    expect(marked()).toEqual(['epoch']);
  });

  test('is kept for minutes when that document changed before, and no pass has reported on it', async () => {
    await start();
    const other = { 'a.yaml': withImage('ghcr.io/acme/app:0') };
    await admit(['x', 'y'], { ...other, 'epoch.yaml': document() });
    expect((await admit(['x', 'y'], other)).lingering.get(epoch)).toMatchObject(held);
  });

  test('is kept when the document changes while the task is away already', async () => {
    await start();
    expect((await admit(['a', 'x', 'y'])).lingering.get(epoch)).toMatchObject({ reason: 'Leaving' });
    await clock.advance(graceMs - 1);
    const other = { 'a.yaml': withImage('ghcr.io/acme/app:0') };
    expect((await admit(['x', 'y'], other)).lingering.get(epoch)).toMatchObject(held);
  });

  test('is over at once where its document released it, or an operator allows it', async () => {
    await start(', released: true');
    await report('Protected');
    await admitForGood(['a', 'x', 'y']);
    expect(marked()).toEqual(['epoch']);
    await store.remove(epoch);
    await start();
    await report('Protected');
    allowed = true;
    await admitForGood(['a', 'x', 'y']);
    expect(marked()).toEqual(['epoch']);
  });

  test('is over at once while its service is in error: what it protected has ended', async () => {
    await start();
    await report('Protected', 'ServiceError');
    await admitForGood(['a', 'x', 'y']);
    expect(marked()).toEqual(['epoch']);
  });

  test('is over at once for a command that shows it to a person', async () => {
    await start();
    await report('Protected');
    admission = new Admission({ store, clock, grace: oneShotGrace, massChangeAllowed: () => false });
    await admit(['a', 'x', 'y']);
    expect(marked()).toEqual(['epoch']);
  });
});

describe('the mass-change brake', () => {
  test('law: the limit is a tenth, but at least five', () => {
    fc.assert(
      fc.property(fc.nat(10_000), fc.nat(10_000), fc.nat(50), (total, missing, recently) => {
        expect(massChangeLimit(total)).toBe(Math.max(5, Math.floor(total / 10)));
        const over = missing > 0 && missing + recently > massChangeLimit(total);
        expect(isMassChange(total, missing, recently)).toBe(over);
      }),
    );
  });

  test('an account read that shows none of two or more is not believed, and of one it is', () => {
    expect(isSuspiciousRead(2, 2)).toBe(true);
    expect(isSuspiciousRead(1, 1)).toBe(false);
    expect(isSuspiciousRead(100, 10)).toBe(false);
    expect(isSuspiciousRead(100, 11)).toBe(true);
    expect(isSuspiciousRead(100, 0)).toBe(false);
  });

  test.each([
    [6, 5],
    [20, 5],
    [80, 8],
  ])('of %i objects %i may go at once', async (total, going) => {
    await admit(named(total));
    expect((await admitForGood(named(total - going))).brakes.get(wholeSource)).toBeUndefined();
    expect(marked()).toHaveLength(going);
  });

  test.each([
    [7, 6],
    [20, 6],
    [80, 9],
  ])(
    'of %i objects %i may not: creations and deletions stop until a person says go',
    async (total, going) => {
      await admit(named(total));
      const admitted = await admitForGood(named(total - going));
      expect(marked()).toEqual([]);
      expect(admitted.brakes.get(wholeSource)).toMatchObject({
        kind: 'hold',
        reason: 'MassChangeBrake',
        message: expect.stringMatching(`^${going} of ${total} objects.*--allow-mass-change`),
      });
      expect(admitted.lingering.size).toBe(going);
      for (const gate of admitted.lingering.values()) expect(gate).toBe(admitted.brakes.get(wholeSource));
      await clock.advance(3_600_000);
      expect((await admit(named(total - going))).brakes.get(wholeSource)).toBeDefined();
      expect(marked()).toEqual([]);
    },
  );

  test('is let go by a person, and the grace still counts', async () => {
    await admit(named(20));
    await admitForGood(named(5));
    allowed = true;
    expect(await admit(named(5))).toMatchObject({ brakes: new Map(), againAfterMs: graceMs });
    expect(marked()).toEqual([]);
    await clock.advance(graceMs);
    expect(await admit(named(5))).toMatchObject({ brakes: new Map() });
    expect(marked()).toHaveLength(15);
  });

  test('lets go by itself when the objects are back', async () => {
    await admit(named(20));
    await admit(named(5));
    expect(await admit(named(20))).toMatchObject({ brakes: new Map(), changed: [], lingering: new Map() });
    expect(marked()).toEqual([]);
    // A few that go later are no part of that.
    expect(await admitForGood(named(19))).toMatchObject({ brakes: new Map() });
    expect(marked()).toEqual(['s19']);
  });

  test('is on for an empty source, however few the objects were', async () => {
    await admit(['a']);
    const admitted = await admitForGood([], { 'a.yaml': '# nothing\n' });
    expect(admitted.brakes.get(wholeSource)?.message).toContain('the source is empty; all 1 objects');
    expect(marked()).toEqual([]);
  });

  test('is off for an empty source that never held anything', async () => {
    expect((await admit([])).brakes.get(wholeSource)).toBeUndefined();
  });

  test('adds up what trickles away within a minute', async () => {
    await admit(named(20));
    await admitForGood(named(17));
    await clock.advance(30_000);
    const admitted = await admitForGood(named(14));
    expect(admitted.brakes.get(wholeSource)).toBeDefined();
    expect(marked()).toHaveLength(3);
  });

  test('stays on, once it is on, however long ago the first ones went', async () => {
    await admit(named(20));
    await admitForGood(named(17));
    await admitForGood(named(14));
    await clock.advance(3_600_000);
    expect((await admit(named(14))).brakes.get(wholeSource)?.message).toMatch(
      /^3 of 17 objects have left .* within a minute/,
    );
    expect(marked()).toHaveLength(3);
    expect((await admit(named(17))).brakes.get(wholeSource)).toBeUndefined();
  });

  test('forgets what went more than a minute ago', async () => {
    await admit(named(20));
    await admitForGood(named(17));
    await clock.advance(60_000);
    expect((await admitForGood(named(14))).brakes.get(wholeSource)).toBeUndefined();
    expect(marked()).toHaveLength(6);
  });

  test('law: however objects leave, no minute sees more deletions than the limit', async () => {
    const departures = fc.array(fc.record({ leave: fc.nat(7), waitMs: fc.nat(40_000) }), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(departures, async (steps) => {
        clock = new ManualClock();
        store = new MemoryStore({ digestKey: digestKey(Buffer.alloc(32)), ownerName: 'laptop' }, [], []);
        restart();
        let names = named(40);
        await admit(names);
        for (const { leave, waitMs } of steps) {
          names = names.slice(leave);
          await admitForGood(names);
          await clock.advance(waitMs);
        }
        const times = [...store.records()].flatMap((record) => record.deletionRequestedAt ?? []);
        for (const fromMs of times) {
          const within = times.filter((atMs) => atMs >= fromMs && atMs < fromMs + 60_000);
          expect(within.length).toBeLessThanOrEqual(5);
        }
      }),
      { numRuns: 12 },
    );
  });
});

describe('a record', () => {
  const withEnvironment = (value: string) => ({
    'a.yaml': serviceDocument('a', [
      'env:',
      `  - {name: MODE, value: ${value}}`,
      '  - {name: TOKEN, valueFrom: {secretKeyRef: {name: trainer, key: token}}}',
    ]),
  });

  test('holds names and references of the environment, and no value', async () => {
    await admit([], withEnvironment('canary'));
    const record = store.record(keyOf('a'));
    expect(JSON.stringify([...store.records()])).not.toContain('canary');
    expect(record?.manifest.spec['env']).toMatchObject([
      { name: 'MODE' },
      { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'trainer', key: 'token' } } },
    ]);
  });

  test('is a generation older with each change of the spec, a value of the environment included', async () => {
    const generations: (number | undefined)[] = [];
    for (const value of ['one', 'one', 'two', 'two', 'one']) {
      await admit([], withEnvironment(value));
      generations.push(store.record(keyOf('a'))?.generation);
    }
    expect(generations).toEqual([1, 1, 2, 2, 3]);
  });

  test('takes over annotations and labels, and where it is written, without a new generation', async () => {
    await admit(['a']);
    const annotated = serviceDocument('a').replace(
      '{name: a}',
      '{name: a, labels: {team: x}, annotations: {fleetkeeper.dev/paused: "true"}}',
    );
    expect(await admit([], { 'moved.yaml': annotated })).toMatchObject({ changed: [keyOf('a')] });
    expect(store.record(keyOf('a'))).toMatchObject({
      generation: 1,
      file: 'moved.yaml',
      manifest: { labels: { team: 'x' }, annotations: { 'fleetkeeper.dev/paused': 'true' } },
    });
  });

  test.each(['labels', 'annotations'])('takes over %s when nothing else has changed', async (field) => {
    await admit(['a']);
    for (const value of ['x', 'y']) {
      const noted = serviceDocument('a').replace('{name: a}', `{name: a, ${field}: {team: ${value}}}`);
      expect(await admit([], { 'a.yaml': noted })).toMatchObject({ changed: [keyOf('a')] });
      expect(store.record(keyOf('a'))).toMatchObject({
        generation: 1,
        manifest: { [field]: { team: value } },
      });
    }
  });

  test('that nothing changed in is not written', async () => {
    await admit(['a']);
    const before = store.record(keyOf('a'));
    expect((await admit(['a'])).changed).toEqual([]);
    expect(store.record(keyOf('a'))).toBe(before);
  });

  test('has the same uid after the state was lost, and another one for another owner', async () => {
    await admit(['a', 'b']);
    const uids = [store.record(keyOf('a'))?.uid, store.record(keyOf('b'))?.uid];
    store = new MemoryStore({ digestKey: digestKey(Buffer.alloc(32, 9)), ownerName: 'laptop' }, [], []);
    restart();
    await admit(['a', 'b']);
    expect([store.record(keyOf('a'))?.uid, store.record(keyOf('b'))?.uid]).toEqual(uids);
    store = new MemoryStore({ digestKey: digestKey(Buffer.alloc(32, 9)), ownerName: 'other' }, [], []);
    restart();
    await admit(['a']);
    expect(uids).not.toContain(store.record(keyOf('a'))?.uid);
    expect(new Set(uids).size).toBe(2);
  });

  test('keeps what it knows of the provider when the document changes', async () => {
    await admit(['a']);
    const record = store.record(keyOf('a'));
    if (!record) throw new Error('no record');
    await store.save({ ...record, externalId: 'id', applied: { image: 'x' } });
    await admit([], { 'a.yaml': serviceDocument('a', ['httpPort: 80']) });
    expect(store.record(keyOf('a'))).toMatchObject({
      externalId: 'id',
      applied: { image: 'x' },
      generation: 2,
    });
  });
});
