/** What people of a run may do. */
import { describe, expect, test } from 'vitest';
import { objectKey, type ObjectKey } from '../../src/resources/index.ts';
import { SimulatedFolder } from './source.ts';
import { Users } from './users.ts';

const fleet = objectKey('ServiceFleet', 'default', 'fleet0');
const renamed = objectKey('ServiceFleet', 'default', 'fleet1');

/** People who have declared a fleet, and its name for later. */
function people(isUnfound: (key: ObjectKey) => boolean): Users {
  const users = new Users({
    documentStore: new SimulatedFolder(),
    slots: [
      { kind: 'ServiceFleet', name: 'fleet0' },
      { kind: 'ServiceFleet', name: 'fleet1' },
    ],
    accountSpec: {},
    nowMs: () => 0,
    isUnfound,
    mayHaveSchedules: false,
    mayHaveTemplates: false,
    contested: undefined,
    hasTeams: false,
  });
  users.write({ atMs: 0, do: 'write', slot: 0, seed: 1 });
  return users;
}

describe('a document whose object was lost with the state, and not found again', () => {
  test('is neither removed nor renamed, since nothing else leads to what it made', () => {
    const users = people((key) => key === fleet);
    users.remove({ atMs: 0, do: 'remove', slot: 0, seed: 1 });
    users.rename({ atMs: 0, do: 'rename-fleet', slot: 0, seed: 1 });
    expect([...users.wanted.keys()]).toEqual([fleet]);
  });

  test('is like any other one once its object is found', () => {
    const users = people(() => false);
    users.rename({ atMs: 0, do: 'rename-fleet', slot: 0, seed: 1 });
    expect([...users.wanted.keys()]).toEqual([renamed]);
    users.remove({ atMs: 0, do: 'remove', slot: 1, seed: 1 });
    expect([...users.wanted.keys()]).toEqual([]);
  });
});
