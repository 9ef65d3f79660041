/** A Secret that is missing is no API that can't be reached: the condition names Secret, namespace and key, and what to do. */
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { apiVersion, objectKey, type ObjectKey } from '../../../src/resources/index.ts';
import { faulty } from '../../../src/desired/data-documents.ts';
import { Sensitive } from '../../../src/base/index.ts';
import { AccountKeys } from '../../../src/manager/account-keys.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  accountDocument,
  knownService,
  readyReason,
  scriptedFleet,
  secretDocument,
  shownService,
  stoppedAfterEach,
  web,
  type ScriptedFleet,
} from '../../support/scripted-fleet.ts';

const account = objectKey('Account', 'default', 'default');
const running = stoppedAfterEach();

async function fleetOf(files: Record<string, string>): Promise<ScriptedFleet> {
  const fleet = await scriptedFleet(desiredOf(files), {
    records: [knownService()],
    prepare: (api) => {
      api.services = [shownService()];
    },
  });
  running.push(fleet);
  await fleet.clock.advance(20_000);
  return fleet;
}

const condition = ({ store }: ScriptedFleet, key: ObjectKey, type: string) =>
  store.record(key)?.status?.conditions.find((each) => each.type === type);

function expectReported(
  fleet: ScriptedFleet,
  key: ObjectKey,
  reason: string,
  words: readonly string[],
): void {
  const stalled = condition(fleet, key, 'Stalled');
  expect([key, stalled?.status, stalled?.reason]).toEqual([key, 'True', reason]);
  for (const word of words) expect(stalled?.message).toContain(word);
}

const otherSecret = secretDocument.replace('apiKey:', 'other:');

describe('of the API key', () => {
  test.each([
    ['that is not there', {}, ['no usable Secret compute', 'namespace default', '`apiKey`', 'stringData']],
    [
      'without the key',
      { 'secret.yaml': otherSecret },
      ['Secret compute', 'namespace default', 'no value under `apiKey`'],
    ],
  ] as const)('%s', async (_, secret, words) => {
    const fleet = await fleetOf({
      'account.yaml': accountDocument,
      ...secret,
      'web.yaml': serviceDocument('web'),
    });
    for (const key of [account, web]) {
      expect(condition(fleet, key, 'Ready')).toMatchObject({
        status: 'Unknown',
        reason: 'CredentialMissing',
      });
      expectReported(fleet, key, 'CredentialMissing', words);
    }
    fleet.tell(desiredOf({ ...access, 'web.yaml': serviceDocument('web') }));
    await fleet.clock.advance(10_000);
    expect(readyReason(fleet, web)).toBe('Running');
    expect(condition(fleet, web, 'Stalled')?.status).toBe('False');
  });

  test('whose Secret has not been read yet: it waits, and is not said to be missing', async () => {
    const unread = faulty({
      reason: 'InvalidReference',
      message: 'the Secret compute in the namespace default has not been read yet',
      remedy: 'wait for the API server',
      isUnread: true,
    });
    const desired = desiredOf({ 'account.yaml': accountDocument, 'web.yaml': serviceDocument('web') });
    const fleet = await scriptedFleet({
      ...desired,
      secrets: desired.secrets.with([['default/compute', unread]]),
    });
    running.push(fleet);
    await fleet.clock.advance(20_000);
    for (const key of [account, web]) {
      expect(condition(fleet, key, 'Ready')).toMatchObject({ status: 'Unknown', reason: 'ApiUnreachable' });
      expect(condition(fleet, key, 'Stalled')?.status).toBe('False');
      const { message } = condition(fleet, key, 'Ready') ?? {};
      expect(message).toContain('the Secret compute in the namespace default has not been read yet');
      expect(message).not.toContain('there is no API key');
    }
    fleet.tell(desiredOf({ ...access, 'web.yaml': serviceDocument('web') }));
    await fleet.clock.advance(10_000);
    expect(fleet.api.news()).not.toEqual([]);
  });

  test('that goes while all is well: nothing is concluded, and nothing is sent', async () => {
    const fleet = await fleetOf({ ...access, 'web.yaml': serviceDocument('web') });
    expect(readyReason(fleet, web)).toBe('Running');
    fleet.tell(desiredOf({ 'account.yaml': accountDocument, 'web.yaml': serviceDocument('web') }));
    await fleet.clock.advance(1000);
    fleet.api.news();
    await fleet.clock.advance(120_000);
    expect(fleet.api.news()).toEqual([]);
    expectReported(fleet, web, 'CredentialMissing', ['Secret compute']);
  });

  test('of the environment', async () => {
    const fleet = await scriptedFleet(desiredOf({ 'web.yaml': serviceDocument('web') }), {
      environment: { url: 'https://api.invalid', apiKey: () => undefined },
    });
    running.push(fleet);
    await fleet.clock.advance(20_000);
    expectReported(fleet, web, 'CredentialMissing', ['FLEETKEEPER_API_KEY']);
  });
});

describe('in a cluster', () => {
  const keys = new AccountKeys({ url: undefined, apiKey: () => new Sensitive('own') });
  const origin = { kind: 'document', place: 'cluster', uid: 'uid' } as const;
  const spec = {
    url: 'https://api.invalid',
    credentialsSecretRef: { name: 'compute', key: 'apiKey' },
  } as never;
  const remedyIn = (snapshot: ReturnType<typeof desiredOf>) => {
    const found = keys.keyOf({ name: 'team/main', spec, origin }, snapshot);
    return found.kind === 'none' ? found.remedy : '';
  };

  test('the command to type is named', () => {
    expect(remedyIn(desiredOf({}))).toContain(
      'kubectl create secret generic compute --namespace team --from-file=apiKey=KEYFILE',
    );
  });

  test('a Secret that may not be read is not said to be missing', () => {
    const problem = {
      file: 'secrets/team/compute',
      line: undefined,
      path: undefined,
      message: "can't be read: 403",
      remedy: 'check the rights',
      key: undefined,
    };
    const remedy = remedyIn({ ...desiredOf({}), problems: [problem] });
    expect(remedy).toContain("can't be read: 403; check the rights");
    expect(remedy).not.toContain('there is no');
  });
});

describe('of others', () => {
  test('a value of the environment', async () => {
    const env = ['env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: tokens, key: web}}}]'];
    const fleet = await fleetOf({ ...access, 'web.yaml': serviceDocument('web', env) });
    expectReported(fleet, web, 'InvalidReference', [
      'Secret tokens',
      'namespace default',
      '`web`',
      'add it',
      'web.yaml',
    ]);
  });

  test('the credentials of a registry', async () => {
    const registry = stringify({
      apiVersion,
      kind: 'ImageRegistry',
      metadata: { name: 'ghcr' },
      spec: {
        repository: 'ghcr.io/acme/web',
        credentialsSecretRef: { name: 'pull', usernameKey: 'user', passwordKey: 'pass' },
      },
    });
    const fleet = await scriptedFleet(desiredOf({ ...access, 'ghcr.yaml': registry }), {
      prepare: (api) => {
        api.on['GET /api/registries'] = () => ({ status: 200, body: { registries: [] } });
      },
    });
    running.push(fleet);
    await fleet.clock.advance(20_000);
    const key = objectKey('ImageRegistry', 'default', 'ghcr');
    expectReported(fleet, key, 'InvalidReference', [
      'Secret pull',
      'namespace default',
      '`user`',
      '`pass`',
      'add it',
    ]);
  });
});
