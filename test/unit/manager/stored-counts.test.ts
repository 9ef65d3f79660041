/** How much of what was spent is in the state file: each minute, and at the end. */
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { apiVersion, type ObjectKey, type StoredTally } from '../../../src/resources/index.ts';
import { desiredOf } from '../../support/desired.ts';
import {
  access,
  scriptedFleet,
  serviceId,
  shownService,
  stoppedAfterEach,
  type ScriptedFleet,
} from '../../support/scripted-fleet.ts';

const running = stoppedAfterEach();

const counting: readonly ObjectKey[] = ['Budget/default/team', 'Account/default/default'];
const budget = {
  apiVersion,
  kind: 'Budget',
  metadata: { name: 'team' },
  spec: { accountRef: { name: 'default' }, limits: { hourlyMicros: 10_000_000 } },
};

async function started(): Promise<ScriptedFleet> {
  const prepare = (api: ScriptedFleet['api']) => {
    api.services = [shownService({ id: serviceId, name: 'theirs', hourlyMicros: 3_600_000 })];
  };
  const fleet = await scriptedFleet(desiredOf({ ...access, 'budget.yaml': stringify(budget) }), { prepare });
  running.push(fleet);
  return fleet;
}

function stored({ store }: ScriptedFleet, key: ObjectKey): StoredTally | undefined {
  const part: { readonly tally?: StoredTally } | undefined = store.record(key)?.kind;
  return part?.tally;
}

test.each(counting)('what %s has spent is stored in each minute', async (key) => {
  const fleet = await started();
  const ages: number[] = [];
  for (let seconds = 0; seconds < 600; seconds += 1) {
    await fleet.clock.advance(1000);
    ages.push(fleet.clock.wallMs() - (stored(fleet, key)?.at ?? fleet.clock.wallMs()));
  }
  // Beside the minute, the age of the read that is stored.
  expect(Math.max(...ages) / 1000).toBeLessThan(95);
});

test.each(counting)('what %s has spent until the last read is stored at the end', async (key) => {
  const fleet = await started();
  await fleet.clock.advance(95_000);
  const before = stored(fleet, key);
  const read = [...fleet.manager.accounts.handles()][0]?.informer.current?.receivedAt;
  expect(read).toBeGreaterThan(before?.at ?? 0);
  await fleet.manager.stop();
  running.length = 0;
  const after = stored(fleet, key);
  expect(after?.at).toBe(Math.floor(read ?? 0));
  expect(BigInt(after?.spent ?? 0)).toBeGreaterThan(BigInt(before?.spent ?? 0));
});
