/** The operator's own key goes to the operator's own account, whatever is done to the Accounts of a cluster. */
import { expect, test } from 'vitest';
import { Sensitive } from '../../../src/base/index.ts';
import { derivedUid } from '../../../src/engine/plan/index.ts';
import type { ObjectKey } from '../../../src/resources/index.ts';
import { newRecord } from '../../../src/state/index.ts';
import { desiredOf, inCluster, serviceDocument } from '../../support/desired.ts';
import {
  accountDocument,
  heartbeat,
  epoch,
  knownService,
  scriptedFleet,
  secretDocument,
  shownService,
  stateIdentity,
  taskDocument,
  web,
  type ScriptedFleet,
} from '../../support/scripted-fleet.ts';

const environment = { url: undefined, apiKey: () => new Sensitive('operators-own') };
const held = { 'web.yaml': serviceDocument('web'), 'task.yaml': taskDocument() };
const files = { ...held, 'account.yaml': accountDocument, 'secret.yaml': secretDocument };
const withoutSecret = accountDocument.replace(/ {2}credentialsSecretRef:\n( {4}.*\n)*/, '');
const elsewhere = withoutSecret.replace('api.invalid', 'tenant.invalid');

const account: ObjectKey = 'Account/default/default';
const uidOf = (key: string) => derivedUid(stateIdentity.ownerName, key);

function cluster(documents: Readonly<Record<string, string>>, accountUid = 'first') {
  const uids = { [web]: uidOf(web), [epoch]: uidOf(epoch), [account]: accountUid };
  return inCluster(desiredOf(documents), uids);
}

/** A task is held in a service of the cluster. */
async function holding(): Promise<ScriptedFleet> {
  const fleet = await scriptedFleet(cluster(files), {
    records: [knownService(), newRecord(epoch, uidOf(epoch)), newRecord(account, 'first')],
    environment,
    prepare: (api) => {
      api.services = [shownService()];
    },
  });
  await fleet.clock.advance(60_000);
  expect(fleet.api.news()).toContain(heartbeat);
  return fleet;
}

function expectOwnKeyUnsent({ api }: ScriptedFleet): void {
  expect(api.asked.filter(({ credential }) => credential === 'operators-own')).toEqual([]);
}

test('an Account that loses its Secret, and is then deleted while a task is held in it, is not sent the key of the operator', async () => {
  const fleet = await holding();
  for (const documents of [{ ...files, 'account.yaml': withoutSecret }, held]) {
    fleet.tell(cluster(documents));
    await fleet.clock.advance(120_000);
  }
  expectOwnKeyUnsent(fleet);
  await fleet.manager.stop();
});

test('nor one that is edited to have another address and no Secret, and deleted at once', async () => {
  const fleet = await holding();
  fleet.tell(cluster({ ...files, 'account.yaml': elsewhere }));
  fleet.tell(cluster(held));
  await fleet.clock.advance(120_000);
  expectOwnKeyUnsent(fleet);
  await fleet.manager.stop();
});

test('nor one whose Secret has vanished', async () => {
  const fleet = await holding();
  const { 'secret.yaml': _secret, ...rest } = files;
  for (const documents of [rest, held, rest]) {
    fleet.tell(cluster(documents));
    await fleet.clock.advance(120_000);
  }
  expectOwnKeyUnsent(fleet);
  await fleet.manager.stop();
});

test('nor one that is made anew under its name with another address', async () => {
  const fleet = await holding();
  fleet.tell(cluster(held));
  await fleet.clock.advance(60_000);
  fleet.tell(cluster({ ...held, 'account.yaml': elsewhere }, 'second'));
  await fleet.clock.advance(60_000);
  fleet.tell(cluster(held));
  await fleet.clock.advance(120_000);
  expectOwnKeyUnsent(fleet);
  expect(fleet.api.asked.filter(({ host }) => host === 'tenant.invalid')).toEqual([]);
  await fleet.manager.stop();
});
