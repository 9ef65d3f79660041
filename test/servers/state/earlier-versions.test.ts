/**
 * State that earlier versions have written (test/fixtures/state/make.ts), with mutations under way of which nobody knows what became of
 * them. Today's code reads it, and goes on from there as the version would have that wrote it.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TaskState } from '../../../src/resources/index.ts';
import type { ObjectRecord } from '../../../src/state/index.ts';
import { openEarlier, type Earlier, type Sent } from '../../support/earlier-state.ts';

/** Longer than any pause that is written down. */
const longEnoughMs = 120_000;
const leaving = 'ContainerService/default/leaving';
/** What only people can free. */
const held = new Map([
  ['protected', 'Protected'],
  ['refused', 'Refused'],
  ['secretless', 'InvalidReference'],
  ['suspended', 'Paused'],
  ['waiting', 'VolumeShared'],
]);

async function goneOn(earlier: Earlier): Promise<void> {
  await earlier.start();
  await earlier.run(longEnoughMs);
}

/** The fields of the kind under the names of version 1, where they stood then. */
function asWritten(record: ObjectRecord | undefined): object {
  const { registration, ...kind }: TaskState = record?.kind ?? {};
  return { ...record, ...kind, ...(registration ? { lease: registration } : {}) };
}

function isActivity({ path }: Sent): boolean {
  return path.endsWith('/activity');
}

/** Earlier versions left out what is null. Now that is sent, so it is another request, with another key. */
function isTemplate({ method, path }: Sent): boolean {
  return method === 'PUT' && path.startsWith('/api/templates/');
}

/** The same request, whenever it was sent. */
function bytesOf({ method, path, key, body }: Sent): Sent {
  return { method, path, key, body };
}

describe.each(['0.1.0', '0.1.0-signed', '0.2.0-dev', '0.2.0-dev-2'])('the state of %s', (version) => {
  describe.each(['folder', 'cluster'] as const)('in a %s', (place) => {
    let earlier: Earlier;

    beforeAll(async () => {
      earlier = await openEarlier(version, place);
      await goneOn(earlier);
    });

    afterAll(() => earlier.stop());

    test('each record and each intent is read as it was written', () => {
      const { before, learned } = earlier;
      expect(before.length).toBeGreaterThan(25);
      for (const { written, read } of before) {
        expect(asWritten(read.record)).toMatchObject(written.record ?? {});
        expect(read.intent ?? {}).toMatchObject(written.intent ?? {});
      }
      for (const { written, read } of learned) expect(read).toMatchObject(written as object);
    });

    test('each mutation under way is settled, or repeated with its key and its bytes', () => {
      const { unanswered } = earlier.kept;
      const kept = new Map(unanswered.map((sent) => [sent.key, bytesOf(sent)]));
      const repeated = earlier.sent.filter(({ key }) => kept.has(key));
      expect(repeated.map(bytesOf)).toEqual(repeated.map(({ key }) => kept.get(key)));
      // What never arrived is sent once more; heartbeats have a key of their own each time.
      const lost = unanswered.filter((sent) => sent.fate === 'lost' && !isActivity(sent));
      const same = lost.filter((sent) => !isTemplate(sent));
      expect(new Set(repeated.map(({ key }) => key))).toEqual(new Set(same.map(({ key }) => key)));
      const templates = earlier.sent.filter(isTemplate).map(({ path }) => path);
      expect(templates).toEqual(lost.filter(isTemplate).map(({ path }) => path));
      const left = earlier
        .records()
        .filter(({ key }) => ['pending', 'unknown'].includes(earlier.lastIntent(key)?.outcome ?? ''));
      expect(left).toEqual([]);
    });

    test('nothing is made twice, nothing is forgotten', () => {
      const keysBefore = earlier.before.map(({ key }) => key);
      const names = earlier.things();
      expect(new Set(names).size).toBe(names.length);
      expect(new Set(earlier.records().map(({ key }) => key))).toEqual(
        new Set(keysBefore.filter((key) => key !== leaving)),
      );
      const known = earlier.before.filter(
        ({ key, read }) => key !== leaving && read.record?.externalId !== undefined,
      );
      const ids = new Map(earlier.records().map(({ key, externalId }) => [key, externalId]));
      expect(known.map(({ key }) => ids.get(key))).toEqual(known.map(({ read }) => read.record?.externalId));
    });

    test('what was desired is in place, and what was held is held', () => {
      const reasons = earlier.records().flatMap(({ key, status }) => {
        const ready = status?.conditions.find(({ type }) => type === 'Ready');
        return ready?.status === 'True' ? [] : [[key.split('/').at(-1), ready?.reason]];
      });
      expect(new Map(reasons as [string, string][])).toEqual(held);
    });

    test('a pause that was written down is kept, and a registered activity is kept fresh', () => {
      const { record } = earlier.before.find(({ key }) => key.endsWith('/scarce'))?.written ?? {};
      const { retryAt } = record.refusal.scarcity;
      const creations = earlier.sent.filter(({ body }) => body.startsWith('{"name":"scarce"'));
      expect(creations.length).toBeGreaterThan(0);
      expect(Math.min(...creations.map(({ atMs }) => atMs))).toBeGreaterThanOrEqual(retryAt);
      const heartbeats = earlier.sent.filter(({ body }) => body.includes('"name":"epoch"'));
      const times = [earlier.kept.atMs, ...heartbeats.map(({ atMs }) => atMs)];
      const longestMs = Math.max(...times.slice(1).map((atMs, at) => atMs - (times[at] ?? 0)));
      expect(longestMs).toBeLessThan(60_000);
    });
  });
});
