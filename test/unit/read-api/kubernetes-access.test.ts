import { describe, expect, test } from 'vitest';
import { KubernetesAccess } from '../../../src/read-api/access/kubernetes.ts';
import { asking, PromptClock, startMs } from './support.ts';

const kinds = ['services', 'volumes'];

/** `rights`: `resource namespace`, or `resource *`. */
function accessOf(
  rights: Readonly<Record<string, readonly string[]>>,
  namespaces: readonly string[] = ['a', 'b'],
) {
  const clock = new PromptClock(startMs);
  const world = { asked: [] as string[], most: 0, underWay: 0, isDown: false };
  const ask = async <Answer>(what: string, answer: Answer): Promise<Answer> => {
    world.asked.push(what);
    world.underWay += 1;
    world.most = Math.max(world.most, world.underWay);
    await new Promise((resolve) => setImmediate(resolve));
    world.underWay -= 1;
    if (world.isDown) throw new Error('refused');
    return answer;
  };
  const access = new KubernetesAccess<string, string>({
    reviews: {
      userOf: (token) => ask(`who ${token}`, token in rights ? token : undefined),
      mayList: (user, resource, namespace) =>
        ask(`may ${user}`, rights[user]?.includes(`${resource} ${namespace ?? '*'}`) ?? false),
    },
    kinds,
    events: 'events',
    namespaces: () => namespaces,
    clock,
  });
  const reader = (token?: string) =>
    access.reader(asking('/', token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }));
  return { access, reader, clock, world };
}

describe('who reads by the rights of a cluster', () => {
  test.each<readonly [string, readonly string[], object]>([
    ['every kind and Events everywhere', ['services *', 'volumes *', 'events *'], { namespaces: undefined }],
    [
      'every kind in one namespace',
      ['services a', 'volumes a'],
      { namespaces: new Set(['a']), eventsIn: new Set() },
    ],
    ['one kind in a namespace', ['services a'], { namespaces: new Set(), eventsIn: new Set() }],
    [
      'one kind everywhere, the other one in a namespace',
      ['services *', 'volumes b', 'events b'],
      { namespaces: new Set(['b']), eventsIn: new Set(['b']) },
    ],
    ['Events alone', ['events *'], { namespaces: new Set(), eventsIn: undefined }],
    ['nothing', [], { namespaces: new Set(), eventsIn: new Set() }],
  ])('who may list %s sees that', async (_, rights, expected) => {
    const { reader } = accessOf({ user: rights });
    expect(await reader('user')).toEqual(expected);
  });

  test('nobody gets in without a token, with a wrong one, or while the API server can not be asked', async () => {
    const { reader, access, world, clock } = accessOf({ user: ['services *', 'volumes *', 'events *'] });
    await expect(reader()).rejects.toMatchObject({ reason: 'missing' });
    await expect(reader('wrong')).rejects.toMatchObject({ reason: 'invalid', status: 401 });
    expect(await access.accepts('wrong')).toBe(false);
    expect(await access.accepts('user')).toBe(true);
    world.isDown = true;
    await clock.advance(60_000);
    await expect(reader('user')).rejects.toMatchObject({ reason: 'unavailable', status: 503 });
    await expect(access.accepts('user')).rejects.toMatchObject({ reason: 'unavailable' });
    world.isDown = false;
    const before = world.asked.length;
    await expect(reader('user')).rejects.toMatchObject({ reason: 'unavailable' });
    expect(world.asked).toHaveLength(before);
    await clock.advance(5000);
    expect(await reader('user')).toEqual({ namespaces: undefined });
  });

  test('an answer counts for a minute, for any number of questions at once', async () => {
    const { reader, clock, world } = accessOf({ user: ['services a', 'volumes a'] });
    await Promise.all(Array.from({ length: 50 }, () => reader('user')));
    expect(world.asked.filter((what) => what.startsWith('who'))).toHaveLength(1);
    await clock.advance(59_000);
    await reader('user');
    expect(world.asked.filter((what) => what.startsWith('who'))).toHaveLength(1);
    await clock.advance(1000);
    await reader('user');
    expect(world.asked.filter((what) => what.startsWith('who'))).toHaveLength(2);
  });

  test('at most eight reviews are under way, and made-up tokens push no valid one out', async () => {
    const { reader, world } = accessOf(
      { user: [] },
      Array.from({ length: 100 }, (_, index) => `n${index}`),
    );
    await reader('user');
    const guesses = Array.from({ length: 1500 }, (_, index) =>
      reader(`guess-${index}`).catch(() => undefined),
    );
    await Promise.all(guesses);
    expect(world.most).toBe(8);
    const before = world.asked.length;
    await reader('user');
    expect(world.asked).toHaveLength(before);
  });
});
