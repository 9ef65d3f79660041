/** The store of a cluster knows an object a moment before the rest of the process does: its document is not there yet. */
import { expect, test } from 'vitest';
import { derivedUid } from '../../../src/engine/plan/index.ts';
import { newRecord } from '../../../src/state/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  epoch,
  readyReason,
  scriptedFleet,
  stateIdentity,
  taskDocument,
  web,
  type ScriptedFleet,
} from '../../support/scripted-fleet.ts';

const fresh = (key: typeof web) => newRecord(key, derivedUid(stateIdentity.ownerName, key));

async function declared({ tell, clock }: ScriptedFleet): Promise<void> {
  tell(desiredOf({ ...access, 'web.yaml': serviceDocument('web'), 'task.yaml': taskDocument() }));
  await clock.advance(10_000);
}

test('a task that has to be looked at while its service is so new ends no process', async () => {
  const fleet = await scriptedFleet(desiredOf({ ...access, 'task.yaml': taskDocument() }));
  await fleet.clock.advance(5000);
  await fleet.store.saveAll([fresh(web)]);
  fleet.manager.recheck(epoch);
  await declared(fleet);
  expect(readyReason(fleet, web)).toBeDefined();
  await fleet.manager.stop();
});

test.each([web, epoch])('nor does %s itself, which is looked at when its document is there', async (key) => {
  const passes: unknown[] = [];
  const fleet = await scriptedFleet(desiredOf(access), { onPass: (passed) => passes.push(passed) });
  await fleet.clock.advance(5000);
  await fleet.store.saveAll([fresh(key)]);
  fleet.manager.recheck(key);
  await fleet.clock.advance(1);
  expect(passes).not.toContain(key);
  await declared(fleet);
  expect(readyReason(fleet, key)).toBeDefined();
  await fleet.manager.stop();
});
