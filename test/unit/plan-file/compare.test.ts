/** Each row of the table, and each case, in src/plan-file/compare.ts. */
import { describe, expect, test } from 'vitest';
import {
  compare,
  refusalText,
  sha256,
  type Asked,
  type PlanFile,
  type PlannedNow,
  type PlannedObject,
  type Present,
} from '../../../src/plan-file/index.ts';
import type { Foreseen } from '../../../src/engine/index.ts';
import { beforeOf } from '../../../src/plan-file/planned-objects.ts';
import type { ObjectKey } from '../../../src/resources/index.ts';
import { account, api, fileWith, llm, objectWith, startMs, step, web } from './support.ts';

function now(objects: readonly PlannedObject[], more: Partial<PlannedNow> = {}): PlannedNow {
  const byKey = new Map<ObjectKey, PlannedObject>(objects.map((object) => [object.key, object]));
  return { objects: byKey, held: new Map(), unknown: [], open: new Set(), ...more };
}

function verdictOf(
  file: PlanFile,
  planned: PlannedNow,
  more: Partial<Present> = {},
  asked: Partial<Asked> = {},
) {
  const present: Present = {
    planned,
    documentDigest: (key) => sha256(key),
    remembers: () => true,
    accounts: new Map([[account, { identityId: 'acme', keyCheck: 'check' }]]),
    since: () => undefined,
    known: undefined,
    nowMs: startMs,
    ...more,
  };
  const { refusals, ...rest } = compare(file, present, { digest: undefined, strict: false, ...asked });
  return { refused: refusals.map(refusalText), ...rest };
}

const patch = step('patch-service', 'image');
const resize = step('resize-service', 'resources');
const start = step('start-service', 'desiredState');
const nothing = { refused: [], fewer: [], documents: [], unknown: [], outside: [], unpriced: [] };

describe('what the same steps cost', () => {
  const create = step('create-service', 'image');
  const costing = (key: ObjectKey, deltaMicros: number, basis = 'catalog') =>
    objectWith(key, [create, start], {
      cost: { beforeMicros: 0, afterMicros: deltaMicros, deltaMicros, basis },
    });
  const file = fileWith([costing(web, 900_000), costing(api, 100_000)]);
  const refused = (objects: readonly PlannedObject[]) => verdictOf(file, now(objects)).refused;

  test('is refused when it is more than one per cent higher', () => {
    expect(refused([costing(web, 910_000), costing(api, 100_000)])).toEqual([]);
    expect(refused([costing(web, 910_001), costing(api, 100_000)])).toHaveLength(1);
    expect(refused([costing(web, 9_000_000), costing(api, 100_000)])).toEqual([
      'its steps change the cost by +$9.10/h now, and by +$1.00/h when the plan was made; prices have moved since: ' +
        'ContainerService default/web +$0.90/h → +$9.00/h',
    ]);
  });

  test('is the sum: what one costs less, another may cost more', () => {
    expect(refused([costing(web, 100_000), costing(api, 900_000)])).toEqual([]);
    expect(refused([costing(web, 10_000), costing(api, 10_000)])).toEqual([]);
  });

  test('is not compared where it was unknown, or the file has none, or some of them are done', () => {
    const older = fileWith([objectWith(web, [create]), costing(api, 0, 'unknown')]);
    expect(
      verdictOf(older, now([costing(web, 9_000_000), costing(api, 9_000_000)])).refused,
    ).not.toContainEqual(expect.stringContaining('cost'));
    const left = { ...costing(web, 9_000_000), steps: [start] };
    expect(refused([left, costing(api, 100_000)])).toEqual([]);
  });

  test('is reported where it is not known any more', () => {
    const verdict = verdictOf(file, now([costing(web, 0, 'unknown'), costing(api, 100_000)]));
    expect(verdict).toEqual({ ...nothing, unpriced: [web] });
  });
});

describe('steps', () => {
  const file = fileWith([objectWith(web, [patch, resize], { later: [start] })]);

  test('the same ones continue', () => {
    expect(verdictOf(file, now(file.objects))).toEqual(nothing);
  });

  test('whatever the revision is by now, they are the same', () => {
    const moved = objectWith(web, [patch, resize], {
      later: [start],
      before: { externalId: `id of ${web}`, revision: 9, state: 'running' },
    });
    expect(verdictOf(file, now([moved]))).toEqual(nothing);
  });

  test.each([
    ['the first is done', [resize, start], 2],
    ['one between is done', [patch, start], 2],
    ['the last is not needed', [patch, resize], 2],
    ['only the last is left', [start], 1],
  ] as const)('%s: it continues, and reports what is left', (_name, steps, left) => {
    const verdict = verdictOf(file, now([objectWith(web, steps)]));
    expect(verdict).toEqual({ ...nothing, fewer: [{ key: web, left, of: 3 }] });
  });

  test('none is left: it continues', () => {
    expect(verdictOf(file, now([]))).toEqual({ ...nothing, fewer: [{ key: web, left: 0, of: 3 }] });
  });

  test.each([
    ['another value', [step('patch-service', 'another image'), resize]],
    ['another order', [resize, patch]],
    ['one more', [patch, resize, start, step('restart-service')]],
    ['one of them twice', [patch, patch]],
    ['one that is not there', [step('delete-service')]],
  ])('%s is refused', (_name, steps) => {
    const { refused } = verdictOf(file, now([objectWith(web, steps)]));
    expect(refused).toEqual([
      expect.stringMatching(/^ContainerService default\/web: it needs other steps now: /),
    ]);
  });

  test('of the same steps, other values are what the refusal names', () => {
    const other = [{ ...patch, fingerprint: 'that of another image' }, resize, start];
    const { refused } = verdictOf(file, now([objectWith(web, other)]));
    expect(refused).toEqual([
      expect.stringMatching(/it needs other values now than the plan has for patch-service \(image\), then /),
    ]);
  });

  test('a refusal has the planned, the present, what has moved, and since when', () => {
    const before = { externalId: `id of ${web}`, revision: 4, state: 'paused' };
    const { refused } = verdictOf(file, now([objectWith(web, [start, patch], { before })]), {
      since: () => startMs - 60_000,
    });
    expect(refused).toEqual([
      'ContainerService default/web: it needs other steps now: start-service (desiredState), then patch-service (image), ' +
        'and the plan has patch-service (image), then resize-service (resources), then start-service (desiredState); ' +
        'moved since: revision 1 to 4, state running to paused; it differs since 2026-11-27T07:59:00Z',
    ]);
  });

  test('what is held by now is compared as well', () => {
    const held = (steps: PlannedObject['steps']) => new Map([[web, objectWith(web, steps)]]);
    expect(verdictOf(file, now([], { held: held([patch, resize, start]) })).refused).toEqual([]);
    expect(verdictOf(file, now([], { held: held([step('delete-service')]) })).refused).toHaveLength(1);
  });

  test.each(['unknown', 'open'] as const)('what is %s is neither refused nor done', (kind) => {
    const planned = now([], kind === 'unknown' ? { unknown: [web] } : { open: new Set([web]) });
    expect(verdictOf(file, planned)).toEqual({ ...nothing, unknown: kind === 'unknown' ? [web] : [] });
  });

  test('one object that differs is enough, and each one is named', () => {
    const two = fileWith([objectWith(web, [patch]), objectWith(api, [patch])]);
    expect(verdictOf(two, now([objectWith(web, [patch]), objectWith(api, [resize])])).refused).toHaveLength(
      1,
    );
    expect(verdictOf(two, now([objectWith(web, [resize]), objectWith(api, [resize])])).refused).toHaveLength(
      2,
    );
  });
});

describe('what the steps change', () => {
  const observing = (action: string, path: string, observed: unknown, what = path) => ({
    ...step(action, what),
    fields: [{ path, desired: 'wanted', observed: observed as string }],
  });
  const before = { externalId: `id of ${web}`, revision: 1, state: 'running' };
  const refused = (
    planned: readonly PlannedObject['steps'][number][],
    present: readonly PlannedObject['steps'][number][],
    then: PlannedObject['before'] = before,
    since: PlannedObject['before'] = then,
  ) =>
    verdictOf(
      fileWith([objectWith(web, planned, { before: then })]),
      now([objectWith(web, present, { before: since })]),
    ).refused;
  const image = (observed: unknown, what?: string) => observing('patch-service', 'image', observed, what);

  test('was another value when the plan was made: it is refused, with both values', () => {
    const [message] = refused([image('a:1')], [image('a:3')], before, { ...before, revision: 7 });
    expect(message).toBe(
      'ContainerService default/web: image was "a:1" when the plan was made, and is "a:3" now; moved since: revision 1 to 7',
    );
    expect(refused([image(null)], [image('a:3')])).toHaveLength(1);
    expect(refused([image(['a'])], [image(['a'])])).toEqual([]);
  });

  test('is another value, and others are in place: the refusal has both values, too', () => {
    expect(refused([image('a:1')], [image('a:3', 'another request')])).toEqual([
      expect.stringMatching(
        /needs other values now .*; image was "a:1" when the plan was made, and is "a:3" now/,
      ),
    ]);
  });

  test('is compared with its own step: that a deletion names the thing does not concern the creation after it', () => {
    const replaced = [
      observing('delete-service', 'region', 'east'),
      observing('create-service', 'region', null, 'new'),
    ];
    expect(refused(replaced, replaced.slice(1))).toEqual([]);
  });

  test('may have moved where nothing shows it, if the revision has', () => {
    const secret = observing('rotate-registry', 'credentials', '(not shown by the API)');
    const later = { ...before, revision: 2 };
    expect(refused([secret], [secret])).toEqual([]);
    expect(refused([secret], [secret], before, later)).toEqual([
      expect.stringContaining("credentials can't be seen"),
    ]);
    // A step of the file has moved it.
    expect(refused([image('a:1'), secret], [secret], before, later)).toEqual([]);
  });

  test('may be its state, which moves by itself', () => {
    const stop = (observed: string) => observing('start-service', 'desiredState', observed);
    expect(refused([stop('Stopped')], [stop('Running')])).toEqual([]);
  });

  test('are variables: their names and their mark are compared, if they are sent', () => {
    const env = observing('patch-service', 'env', '(other values)');
    const one = { ...before, environmentDigest: sha256('one') };
    const two = { ...before, environmentDigest: sha256('two') };
    expect(refused([env], [env], one, one)).toEqual([]);
    expect(refused([env], [env], one, two)).toEqual([expect.stringContaining('its environment has changed')]);
    expect(refused([image('a:1')], [image('a:1')], one, two)).toEqual([]);
    // A file of an earlier version has none.
    expect(refused([env], [env], before, two)).toEqual([]);
  });

  describe('is all of it, if it is deleted', () => {
    const remove = observing('delete-service', 'service', 'id');
    const seen = (value: object) => beforeOf(undefined, { value: value as Foreseen['value'] });
    const full = {
      id: 'id',
      image: 'a:1',
      command: ['serve', 'all'],
      resources: { gpuCount: 0, cpu: 2, memoryGb: 4 },
      environmentNames: ['B', 'A'],
    };

    test('another value of a field is refused, and the field is named', () => {
      expect(refused([remove], [remove], seen(full), seen({ ...full, hourlyMicros: 5 }))).toEqual([]);
      const other = { ...full, image: 'a:2', resources: { ...full.resources, cpu: 8 } };
      expect(refused([remove], [remove], seen(full), seen(other))).toEqual([
        expect.stringContaining(
          'it would be deleted, and has changed since the plan was made: image, resources.cpu',
        ),
      ]);
      expect(
        refused([remove], [remove], seen(full), seen({ ...full, command: ['all', 'serve'] })),
      ).toHaveLength(1);
    });

    test.each([
      ['does not show some fields', { id: 'id', image: 'a:1' }],
      ['shows null for them', { ...full, command: null, environmentNames: null }],
      ['shows a part of the resources', { ...full, resources: { cpu: 2 } }],
      ['has the names in another order', { ...full, environmentNames: ['A', 'B'] }],
    ])('a list that %s has not changed, nor has the single read after it', (_name, listed) => {
      expect(refused([remove], [remove], seen(listed), seen(full))).toEqual([]);
      expect(refused([remove], [remove], seen(full), seen(listed))).toEqual([]);
    });

    test('a file of an earlier version has one digest of all, which is not compared', () => {
      const one = { ...before, observedDigest: sha256('one') };
      expect(refused([remove], [remove], one, seen(full))).toEqual([]);
    });
  });
});

describe('objects and documents', () => {
  const file = fileWith([objectWith(web, [patch])]);
  const both = now([objectWith(web, [patch]), objectWith(api, [patch])]);

  test('others that need something are counted, also those that are held', () => {
    expect(verdictOf(file, both)).toEqual({ ...nothing, outside: [api] });
    const held = now([objectWith(web, [patch])], { held: new Map([[api, objectWith(api, [patch])]]) });
    expect(verdictOf(file, held).outside).toEqual([api]);
  });

  test('with --strict they are a reason to refuse', () => {
    expect(verdictOf(file, both, {}, { strict: true }).refused).toEqual([
      'ContainerService default/api: it needs something, and is not in the plan file',
    ]);
  });

  test('a document that differs, with the same steps, is reported', () => {
    const documentDigest = () => sha256('another');
    expect(verdictOf(file, now(file.objects), { documentDigest })).toEqual({ ...nothing, documents: [web] });
  });
});

describe('the file and its account', () => {
  const file = fileWith([objectWith(web, [patch])]);
  const same = now(file.objects);

  test('it has expired, from the very moment on', () => {
    const at = startMs + 86_400_000;
    expect(verdictOf(file, same, { nowMs: at - 1 }).refused).toEqual([]);
    expect(verdictOf(file, same, { nowMs: at }).refused).toEqual([
      expect.stringContaining('it has expired at'),
    ]);
  });

  test('it has another digest than was passed on', () => {
    expect(verdictOf(file, same, {}, { digest: file.digest }).refused).toEqual([]);
    expect(verdictOf(file, same, {}, { digest: sha256('other') }).refused).toHaveLength(1);
  });

  test('it was completed before, and one that was only begun continues', () => {
    const refused = verdictOf(file, same, { known: { completedAt: startMs } }).refused;
    expect(refused).toEqual(['it was applied at 2026-11-27T08:00:00Z']);
    expect(verdictOf(file, same, { known: {} }).refused).toEqual([]);
  });

  test.each([
    ['belongs to another account', { identityId: 'other', keyCheck: 'check' }, /another account/],
    ['was replaced', { identityId: 'acme', keyCheck: 'another' }, /the API key was replaced since/],
  ])('its key %s', (_name, present, message) => {
    const { refused } = verdictOf(file, same, { accounts: new Map([[account, present]]) });
    expect(refused).toEqual([expect.stringMatching(message)]);
  });

  test('its key was replaced, and it has no value that could not be compared', () => {
    const plain = fileWith(file.objects, { accounts: [{ key: account, identityId: 'acme' }] });
    const accounts = new Map([[account, { identityId: 'acme', keyCheck: 'another' }]]);
    expect(verdictOf(plain, same, { accounts }).refused).toEqual([]);
  });

  test('its account is gone', () => {
    expect(verdictOf(file, same, { accounts: new Map() }).refused).toEqual([
      expect.stringContaining('it is not there any more'),
    ]);
  });
});

describe('a fleet', () => {
  const goal = 'five replicas';
  const of = (...steps: readonly [string, number][]) =>
    objectWith(
      llm,
      steps.map(([action, count]) => step(action, goal, count)),
    );
  const verdict = (planned: PlannedObject, present: PlannedObject) =>
    verdictOf(fileWith([planned]), now([present]));

  test('fewer replicas are left: it continues', () => {
    expect(verdict(of(['add', 3]), of(['add', 1])).fewer).toEqual([{ key: llm, left: 1, of: 3 }]);
  });

  test('while it is updated, others may be there and leave', () => {
    expect(verdict(of(['update', 3]), of(['update', 2], ['add', 1], ['drain', 1])).refused).toEqual([]);
  });

  test.each([
    ['more are to be added', of(['add', 2]), of(['add', 3])],
    ['some are to leave', of(['add', 2]), of(['add', 2], ['drain', 1])],
    ['some are to be updated', of(['add', 2]), of(['add', 2], ['update', 1])],
    ['some are to be left', of(['drain', 2]), of(['leave', 2])],
    ['more are to be updated', of(['update', 2]), of(['update', 3])],
    ['another end is wanted', of(['add', 2]), objectWith(llm, [step('add', 'nine replicas', 2)])],
  ])('%s: it is refused', (_name, planned, present) => {
    expect(verdict(planned, present).refused).toHaveLength(1);
  });

  test('its update is refused by a state that does not remember what the replicas had', () => {
    const planned = now([], { unknown: [llm] });
    const forgotten = { remembers: () => false };
    expect(verdictOf(fileWith([of(['update', 3])]), planned, forgotten).refused).toHaveLength(1);
    expect(verdictOf(fileWith([of(['add', 3])]), planned, forgotten).refused).toEqual([]);
    expect(verdictOf(fileWith([of(['update', 3])]), planned).refused).toEqual([]);
  });

  test('a return that the file has is part of it, and another one is not', () => {
    const planned = { ...of(['update', 3]), later: [step('return', 'the earlier content', 3)] };
    const back = (content: string) => objectWith(llm, [step('update', content, 2)]);
    expect(verdict(planned, back('the earlier content')).refused).toEqual([]);
    expect(verdict(planned, back('the content before that')).refused).toHaveLength(1);
  });
});
