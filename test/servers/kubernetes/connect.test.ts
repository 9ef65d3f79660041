import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { UserError, systemClock } from '../../../src/base/index.ts';
import { inClusterAccess, isInCluster } from '../../../src/kubernetes/in-cluster.ts';
import { connect } from '../../../src/kubernetes/connect.ts';
import type { KubernetesApi } from '../../../src/kubernetes/index.ts';
import { createMetrics } from '../../../src/telemetry/index.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { temporaryFile } from '../../support/temporary.ts';
import { certificate, privateKey } from '../../support/tls.ts';
import { widgets } from './support.ts';

let server: Server;
let url = '';
const authorizations: (string | undefined)[] = [];
/** What the server accepts; undefined: anything. */
let accepted: string | undefined;

beforeAll(async () => {
  server = createServer({ cert: certificate, key: privateKey }, (request, response) => {
    authorizations.push(request.headers.authorization);
    const refused = accepted !== undefined && request.headers.authorization !== accepted;
    response.writeHead(refused ? 401 : 200);
    response.end(JSON.stringify({ metadata: { name: 'a', uid: 'u', resourceVersion: '1' } }));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

beforeEach(() => {
  authorizations.length = 0;
  accepted = undefined;
});

const authority = { 'certificate-authority-data': Buffer.from(certificate).toString('base64') };

function kubeconfig(cluster: object, user: object, more: { name?: string; namespace?: string } = {}): string {
  const { name = 'test', namespace } = more;
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    clusters: [{ name, cluster: { server: url, ...cluster } }],
    users: [{ name, user }],
    contexts: [{ name, context: { cluster: name, user: name, ...(namespace && { namespace }) } }],
  });
}

function saved(text: string, name = 'config'): string {
  const file = temporaryFile(name);
  writeFileSync(file, text);
  return file;
}

function connected(
  environment: Record<string, string>,
  more: { readonly kubeconfig?: string; readonly context?: string } = {},
): Promise<KubernetesApi> {
  return connect({ environment, clock: systemClock, metrics: createMetrics(), ...more });
}

const read = (api: KubernetesApi) => api.get({ type: widgets, namespace: 'default', name: 'a' });

describe('a kubeconfig', () => {
  test('gives address, authority, token and namespace', async () => {
    const file = saved(kubeconfig(authority, { token: 'secret-token' }, { namespace: 'team' }));
    const api = await connected({ KUBECONFIG: file });
    expect(await read(api)).toMatchObject({ kind: 'Widget', metadata: { name: 'a' } });
    expect(authorizations).toEqual(['Bearer secret-token']);
    expect(api.namespace).toBe('team');
    expect(api.description).toBe(`the context test of ${file} (${url})`);
    await api.close();
  });

  test('without the authority of the server sends it nothing', async () => {
    const api = await connected({ KUBECONFIG: saved(kubeconfig({}, { token: 'secret-token' })) });
    await expect(read(api)).rejects.toThrow(/self-signed certificate/);
    expect(authorizations).toEqual([]);
    await api.close();
  });

  test('turns the verification off only where it says so', async () => {
    const file = saved(kubeconfig({ 'insecure-skip-tls-verify': true }, { username: 'u', password: 'p' }));
    const api = await connected({ KUBECONFIG: file });
    await read(api);
    expect(authorizations).toEqual([`Basic ${Buffer.from('u:p').toString('base64')}`]);
    await api.close();
  });

  test('with an exec plug-in has it asked, once', async () => {
    const credential = {
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      status: { token: 'plugged' },
    };
    const exec = {
      apiVersion: credential.apiVersion,
      command: process.execPath,
      args: ['-e', `console.log(${JSON.stringify(JSON.stringify(credential))})`],
    };
    const api = await connected({ KUBECONFIG: saved(kubeconfig(authority, { exec })) });
    await Promise.all([read(api), read(api)]);
    expect(authorizations).toEqual(['Bearer plugged', 'Bearer plugged']);
    await api.close();
  });

  test('whose token is no longer accepted is read again', async () => {
    const file = saved(kubeconfig(authority, { token: 'old' }));
    const clock = new ManualClock();
    const api = await connect({ environment: { KUBECONFIG: file }, clock, metrics: createMetrics() });
    accepted = 'Bearer new';
    await expect(read(api)).rejects.toMatchObject({ status: 401 });
    writeFileSync(file, kubeconfig(authority, { token: 'new' }));
    await clock.advance(1000);
    expect(await read(api)).toBeDefined();
    await api.close();
  });

  test('may be one of several, of which the first one with a name counts', async () => {
    const first = saved(kubeconfig(authority, { token: 'first' }));
    const second = saved(kubeconfig(authority, { token: 'second' }, { name: 'other' }));
    const same = saved(kubeconfig(authority, { token: 'shadowed' }));
    const environment = { KUBECONFIG: ['/missing', first, same, second].join(path.delimiter) };
    const one = await connected(environment);
    const other = await connected(environment, { context: 'other' });
    await read(one);
    await read(other);
    expect(authorizations).toEqual(['Bearer first', 'Bearer second']);
    await Promise.all([one.close(), other.close()]);
  });

  test('in the home folder is used when nothing else is said, and --kubeconfig wins over all', async () => {
    const file = temporaryFile('.kube');
    mkdirSync(file);
    writeFileSync(path.join(file, 'config'), kubeconfig(authority, { token: 'home' }));
    const other = saved(kubeconfig(authority, { token: 'given' }));
    const home = { HOME: path.dirname(file) };
    const atHome = await connected(home);
    const given = await connected({ ...home, KUBECONFIG: '/missing' }, { kubeconfig: other });
    await read(atHome);
    await read(given);
    expect(authorizations).toEqual(['Bearer home', 'Bearer given']);
    await Promise.all([atHome.close(), given.close()]);
  });

  test.each([
    [
      'that is missing',
      () => ({ kubeconfig: '/missing/config' }),
      /kubeconfig \/missing\/config can't be used/,
    ],
    ['that is no YAML', () => ({ kubeconfig: saved('{') }), /can't be used/],
    [
      'without the context',
      () => ({ kubeconfig: saved(kubeconfig({}, {})), context: 'x' }),
      /no context x in/,
    ],
    ['without a context', () => ({ kubeconfig: saved('{}') }), /has no current context/],
    [
      'with plain http to another machine',
      () => ({ kubeconfig: saved(kubeconfig({ server: 'http://example.com:8080' }, {})) }),
      /not sent over http:\/\/ to example.com/,
    ],
    [
      'with a proxy of another kind',
      () => ({ kubeconfig: saved(kubeconfig({ 'proxy-url': 'socks5://localhost:1080' }, {})) }),
      /socks5/,
    ],
  ])('%s is refused with a word of what to do', async (_what, options, message) => {
    const refused = await connected({}, options()).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(UserError);
    expect((refused as UserError).message).toMatch(message);
    expect((refused as UserError).remedy).toBeTruthy();
  });

  test('may name plain http on this machine, as tests do', async () => {
    const file = saved(kubeconfig({ server: 'http://127.0.0.1:1' }, {}));
    const api = await connected({ KUBECONFIG: file });
    await expect(read(api)).rejects.toThrow(/ECONNREFUSED/);
    await api.close();
  });
});

test('without any word of a cluster, it is said where one was looked for', async () => {
  await expect(connected({})).rejects.toThrow(/no --kubeconfig, no KUBECONFIG/);
});

describe('in a pod', () => {
  const environment = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '6443' };

  function serviceAccount(): string {
    const folder = temporaryFile('serviceaccount');
    mkdirSync(folder);
    writeFileSync(path.join(folder, 'token'), 'first\n');
    writeFileSync(path.join(folder, 'ca.crt'), certificate);
    writeFileSync(path.join(folder, 'namespace'), 'fleet');
    return folder;
  }

  test('the ServiceAccount is used, and its token read again every minute', async () => {
    const folder = serviceAccount();
    const clock = new ManualClock();
    expect(isInCluster({ environment, folder })).toBe(true);
    const access = await inClusterAccess({ environment, clock, folder });
    expect(access).toMatchObject({ server: 'https://10.0.0.1:6443', namespace: 'fleet' });
    const bearer = async () => (await access.credentials()).headers.reveal()['authorization'];
    expect(await bearer()).toBe('Bearer first');
    writeFileSync(path.join(folder, 'token'), 'second');
    expect(await bearer()).toBe('Bearer first');
    await clock.advance(60_000);
    expect(await bearer()).toBe('Bearer second');
    writeFileSync(path.join(folder, 'token'), 'third');
    access.refused();
    expect(await bearer()).toBe('Bearer third');
    expect((await access.credentials()).tls.reveal()).toEqual({ ca: certificate, rejectUnauthorized: true });
  });

  test('an address of version 6 is put in brackets', async () => {
    const access = await inClusterAccess({
      environment: { KUBERNETES_SERVICE_HOST: 'fd00::1' },
      clock: new ManualClock(),
      folder: serviceAccount(),
    });
    expect(access.server).toBe('https://[fd00::1]:443');
  });

  test('without a token, there is none', () => {
    expect(isInCluster({ environment, folder: '/missing' })).toBe(false);
    expect(isInCluster({ environment: {}, folder: serviceAccount() })).toBe(false);
  });
});
