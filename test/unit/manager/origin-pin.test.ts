/** A key goes to the origin that it was first used with, until a person says that it may go to another one. */
import { expect, test } from 'vitest';
import type { DesiredObject } from '../../../src/desired/index.ts';
import { resolveCredentials } from '../../../src/kinds/image-registry/credentials-values.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  accountDocument,
  epoch,
  heartbeat,
  knownService,
  readyReason,
  scriptedFleet,
  secretDocument,
  shownService,
  taskDocument,
  web,
  type ScriptedFleet,
  type ScriptedFleetOptions,
} from '../../support/scripted-fleet.ts';

const files = { ...access, 'web.yaml': serviceDocument('web'), 'task.yaml': taskDocument() };
const moved = accountDocument.replace('https://api.invalid', 'https://elsewhere.invalid');
const withAnnotation = (document: string, name: string, value: string) =>
  document.replace(
    /( +)name: (default|compute)\n/,
    `$&$1annotations: {"fleetkeeper.dev/${name}": "${value}"}\n`,
  );

async function holding(
  documents: Readonly<Record<string, string>> = files,
  options: ScriptedFleetOptions = {},
): Promise<ScriptedFleet> {
  const fleet = await scriptedFleet(desiredOf(documents), {
    records: [knownService()],
    ...options,
    prepare: (api) => {
      api.services = [shownService()];
    },
  });
  await fleet.clock.advance(60_000);
  return fleet;
}

async function tell({ tell: say, clock, api }: ScriptedFleet, documents: Readonly<Record<string, string>>) {
  api.news();
  const since = api.asked.length;
  say(desiredOf(documents));
  await clock.advance(90_000);
  return api.asked.slice(since);
}

const hostsOf = (asked: readonly { readonly host: string }[]) => [...new Set(asked.map(({ host }) => host))];

test('an Account whose url is edited is held, and nothing is sent there', async () => {
  const fleet = await holding();
  const asked = await tell(fleet, { ...files, 'account.yaml': moved });
  expect(hostsOf(asked)).toEqual(['api.invalid']);
  expect(asked.every(({ what }) => what === heartbeat)).toBe(true);
  expect(readyReason(fleet, 'Account/default/default')).toBe('OriginChanged');
  expect(readyReason(fleet, web)).toBe('OriginChanged');
  await fleet.manager.stop();
});

test('heartbeats go on meanwhile where the task was registered, also when the Secret is another one', async () => {
  const fleet = await holding();
  const rotated = secretDocument.replace('apiKey: key', 'apiKey: of-the-new-place');
  const documents = { ...files, 'account.yaml': moved, 'secret.yaml': rotated };
  const asked = [...(await tell(fleet, documents)), ...(await tell(fleet, documents))];
  expect(asked.length).toBeGreaterThan(4);
  expect(new Set(asked.map(({ what, host, credential }) => `${host} ${what} ${credential}`))).toEqual(
    new Set([`api.invalid ${heartbeat} key`]),
  );
  await fleet.manager.stop();
});

test('a heartbeat that is answered 401 meanwhile is asked about with the old key, and nothing else', async () => {
  const fleet = await holding();
  await tell(fleet, { ...files, 'account.yaml': moved });
  fleet.api.on[heartbeat] = () => {
    delete fleet.api.on[heartbeat];
    return { status: 401 };
  };
  const asked = await tell(fleet, { ...files, 'account.yaml': moved });
  expect(new Set(asked.map(({ what, host }) => `${host} ${what}`))).toEqual(
    new Set([`api.invalid ${heartbeat}`, 'api.invalid GET /api/me']),
  );
  await fleet.manager.stop();
});

test('put back, it goes on as before', async () => {
  const fleet = await holding();
  await tell(fleet, { ...files, 'account.yaml': moved });
  const asked = await tell(fleet, files);
  expect(hostsOf(asked)).toEqual(['api.invalid']);
  expect(asked.map(({ what }) => what)).toContain('GET /api/account');
  expect(readyReason(fleet, web)).toBe('Running');
  await fleet.manager.stop();
});

test('a person who means it says so on the Account; then the new origin is the one', async () => {
  const fleet = await holding();
  await tell(fleet, { ...files, 'account.yaml': moved });
  const accepted = withAnnotation(moved, 'accept-origin', 'https://elsewhere.invalid');
  expect(hostsOf(await tell(fleet, { ...files, 'account.yaml': accepted }))).toEqual(['elsewhere.invalid']);
  expect(fleet.store.identityPin('default/default')?.origin).toBe('https://elsewhere.invalid');
  const asked = await tell(fleet, files);
  expect(asked.filter(({ host }) => host === 'api.invalid')).toEqual([]);
  await fleet.manager.stop();
});

test('or on the Secret, which names the origins that it may be sent to', async () => {
  const secret = withAnnotation(
    secretDocument,
    'allowed-origins',
    'https://api.invalid, https://elsewhere.invalid',
  );
  const fleet = await holding({ ...files, 'secret.yaml': secret });
  const asked = await tell(fleet, { ...files, 'secret.yaml': secret, 'account.yaml': moved });
  expect(hostsOf(asked)).toEqual(['elsewhere.invalid']);
  await fleet.manager.stop();
});

test.each([
  ['another path', 'https://api.invalid/base', false],
  ['a name in capitals', 'https://API.invalid', false],
  ['another port', 'https://api.invalid:8443', true],
])('%s is %s: held %s', async (_, url, isHeld) => {
  const fleet = await holding();
  await tell(fleet, { ...files, 'account.yaml': accountDocument.replace('https://api.invalid', url) });
  expect(readyReason(fleet, 'Account/default/default') === 'OriginChanged').toBe(isHeld);
  await fleet.manager.stop();
});

test('an Account that is made anew under its name is held all the same', async () => {
  const { 'account.yaml': _account, ...rest } = files;
  const fleet = await holding();
  await tell(fleet, rest);
  const asked = await tell(fleet, { ...files, 'account.yaml': moved });
  expect(hostsOf(asked)).toEqual(['api.invalid']);
  await fleet.manager.stop();
});

test('the next process holds it, too', async () => {
  const first = await holding();
  await first.manager.stop();
  const { store } = first;
  const second = await holding({ ...files, 'account.yaml': moved }, { store });
  expect(second.api.asked).toEqual([]);
  expect(readyReason(second, web)).toBe('OriginChanged');
  // The key is there, and nobody has to look for it.
  const conditions = second.store.record(epoch)?.status?.conditions;
  expect(conditions?.find(({ type }) => type === 'Ready')?.message).toContain(
    'its `url` is now https://elsewhere.invalid',
  );
  expect(JSON.stringify(conditions)).not.toContain('there is no API key');
  await second.manager.stop();
});

test('the next process holds it, too, when the first question had no answer before the process was stopped', async () => {
  const first = await scriptedFleet(desiredOf(files), {
    prepare: (api) => {
      api.on['GET /api/me'] = () => new Promise(() => {});
    },
  });
  await first.clock.advance(1000);
  expect(first.api.news()).toEqual(['GET /api/me']);
  await first.manager.stop();
  delete first.api.on['GET /api/me'];
  const { store, api, clock } = first;
  const second = await scriptedFleet(desiredOf({ ...files, 'account.yaml': moved }), {
    store,
    beside: { api, clock },
  });
  await clock.advance(60_000);
  expect(api.news()).toEqual([]);
  expect(readyReason(second, 'Account/default/default')).toBe('OriginChanged');
  await second.manager.stop();
});

test('a pin of 0.1.0, which names no origin, takes the first one that its key is used with', async () => {
  const fleet = await holding();
  await fleet.store.saveIdentityPin('default/default', { id: 'acme', emailDigest: undefined });
  await tell(fleet, { ...files, 'secret.yaml': secretDocument.replace('apiKey: key', 'apiKey: rotated') });
  expect(fleet.store.identityPin('default/default')).toMatchObject({
    id: 'acme',
    origin: 'https://api.invalid',
  });
  await fleet.manager.stop();
});

test.each(['https://other.invalid', 'api.invalid', 'https://api.invalid/path', ''])(
  'a key whose Secret names "%s" only is sent nowhere else, not even to ask whose it is',
  async (named) => {
    const secret = withAnnotation(secretDocument, 'allowed-origins', named);
    const fleet = await holding({ ...files, 'secret.yaml': secret });
    expect(fleet.api.asked).toEqual([]);
    expect(readyReason(fleet, web)).toBe('OriginNotAllowed');
    expect(hostsOf(await tell(fleet, files))).toEqual(['api.invalid']);
    await fleet.manager.stop();
  },
);

test('what a Secret forbids while a task is held stops heartbeats, too', async () => {
  const fleet = await holding();
  const secret = withAnnotation(secretDocument, 'allowed-origins', 'https://other.invalid');
  expect(await tell(fleet, { ...files, 'secret.yaml': secret })).toEqual([]);
  await fleet.manager.stop();
});

const robot = (origins: string) =>
  `apiVersion: v1\nkind: Secret\nmetadata: {name: robot, annotations: {fleetkeeper.dev/allowed-origins: "${origins}"}}\nstringData: {username: u, password: hush}\n`;

test('a Secret in an environment goes to the origins only that it names', async () => {
  const env = ['env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: robot, key: password}}}]'];
  const documents = {
    ...access,
    'new.yaml': serviceDocument('new', env),
    'robot.yaml': robot('https://other.invalid'),
  };
  const fleet = await scriptedFleet(desiredOf(documents));
  await fleet.clock.advance(30_000);
  expect(readyReason(fleet, 'ContainerService/default/new')).toBe('InvalidReference');
  expect(fleet.api.asked.filter(({ body }) => body !== undefined)).toEqual([]);
  fleet.tell(desiredOf({ ...documents, 'robot.yaml': robot('https://api.invalid') }));
  await fleet.clock.advance(30_000);
  const created = fleet.api.asked.find(({ what }) => what === 'POST /api/services');
  expect(created?.body.environment.TOKEN).toBe('hush');
  await fleet.manager.stop();
});

test('so does one with the credentials of a registry', () => {
  const registry = [
    'apiVersion: fleetkeeper.dev/v1alpha1',
    'kind: ImageRegistry',
    'metadata: {name: images}',
    'spec: {repository: ghcr.io/acme/images, credentialsSecretRef: {name: robot}}',
    '',
  ].join('\n');
  const snapshot = desiredOf({ 'registry.yaml': registry, 'robot.yaml': robot('https://other.invalid') });
  const object = snapshot.objects.get('ImageRegistry/default/images') as DesiredObject<'ImageRegistry'>;
  expect(resolveCredentials(object, snapshot, 'https://api.invalid')).toMatchObject({ ok: false });
  expect(resolveCredentials(object, snapshot, 'https://other.invalid')).toMatchObject({ ok: true });
});
