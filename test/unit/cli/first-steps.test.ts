/** What somebody is told who types a command for the first time, and gets it wrong. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemRandom } from '../../../src/base/index.ts';
import { openState } from '../../../src/state/index.ts';
import { lockState } from '../../../src/state/lock.ts';
import { errorForm, freePort, serve } from '../../servers/api/support.ts';
import { serviceDocument } from '../../support/desired.ts';
import { temporaryFile } from '../../support/temporary.ts';
import { run } from './support.ts';

function folderWith(files: Readonly<Record<string, string>>): string {
  const directory = path.dirname(temporaryFile('fleet/any.yaml'));
  mkdirSync(directory, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(directory, name), text);
  return directory;
}

function accountDocument(name: string, url: string): string {
  return `apiVersion: fleetkeeper.dev/v1alpha1\nkind: Account\nmetadata: {name: ${name}}\nspec: {url: "${url}"}\n`;
}

describe('a command line', () => {
  test.each([
    [['plan', '--sourc', 'x'], "unknown option '--sourc'", '--source'],
    [['apply', 'fleet', 'shop'], 'too many arguments', 'fleetkeeper apply --help'],
    [['plan'], "required option '--source <dir>'", 'fleetkeeper plan --help'],
    [['import', '--source', 'x'], "required option '--output <dir>'", 'fleetkeeper import --help'],
    [['control-plane'], "required option '--listen <address>'", 'fleetkeeper control-plane --help'],
    [['help', 'aply'], "unknown command 'aply'", 'apply'],
    [['aply'], "unknown command 'aply'", 'apply'],
  ])('%j: %s', async (args, message, hint) => {
    const { code, stdout, stderr } = await run(args);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(message);
    expect(stderr).toContain(hint);
    expect(stderr.split('\n').length).toBeLessThan(6);
  });

  test.each([
    ['plan', '1m'],
    ['apply', '10m'],
  ])('`%s --help` has times as they are written', async (command, timeout) => {
    const { stdout } = await run([command, '--help']);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(`(default: ${timeout})`);
    expect(stdout).not.toMatch(/default: \d+\)/);
  });

  test('`run --help` begins with the folder, which has a default; what is for clusters comes last', async () => {
    const { stdout } = await run(['run', '--help']);
    const text = stdout.replaceAll(/\s+/g, ' ');
    expect(text).toMatch(
      /Options: -f, --source <dir> folder \(or file\) of YAML documents, or `kubernetes`; default `source` of/,
    );
    const [, forClusters = ''] = /With --source kubernetes:(.*)Examples:/.exec(text) ?? [];
    expect(forClusters.match(/--[a-z-]+/g)).toEqual([
      '--kubeconfig',
      '--context',
      '--watch-namespaces',
      '--shard',
      '--shard-by',
      '--lease',
    ]);
  });

  test.each(['logs', 'resolve'])(
    '`%s --help` has the flags of clusters that concern one object',
    async (name) => {
      const { stdout } = await run([name, '--help']);
      expect(stdout).toContain('--kubeconfig');
      expect(stdout).not.toContain('--shard');
    },
  );

  test('`apply --help` offers no cluster; who gives one reads what to use instead', async () => {
    const { stdout } = await run(['apply', '--help']);
    expect(stdout).not.toMatch(/kube/);
    const { code, stderr } = await run(['apply', '--source', 'kubernetes', '--context', 'shop']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('write documents with `kubectl apply`')]);
  });
});

describe('an account that can not be read', () => {
  test('of the environment is named by its address, and what to do follows', async () => {
    const source = folderWith({ 'web.yaml': serviceDocument('web') });
    const url = `http://127.0.0.1:${await freePort()}`;
    const environment = { FLEETKEEPER_API_URL: url, FLEETKEEPER_API_KEY: 'key' };
    const { code, stderr } = await run(['plan', '--source', source], { environment });
    expect(code).toBe(1);
    expect(stderr).toContain(`FLEETKEEPER_API_URL (${url}): the account can't be read: `);
    expect(stderr).toMatch(
      /ECONNREFUSED.*: nothing listens there; check the address, and that the API runs\n$/,
    );
  });

  test('for its key says where the key comes from', async () => {
    await using server = await serve((response) =>
      response.writeHead(401).end(JSON.stringify(errorForm('unauthenticated', 'who is this?'))),
    );
    const file = temporaryFile('key');
    writeFileSync(file, 'wrong');
    const source = folderWith({ 'web.yaml': serviceDocument('web') });
    const sources = { FLEETKEEPER_API_KEY: 'FLEETKEEPER_API_KEY', FLEETKEEPER_API_KEY_FILE: file };
    for (const [variable, place] of Object.entries(sources)) {
      const environment = { FLEETKEEPER_API_URL: server.url, [variable]: file };
      const { code, stderr } = await run(['plan', '--source', source], { environment });
      expect(code).toBe(1);
      expect(stderr).toMatch(/401 unauthenticated: who is this\?; put a key that it knows into /);
      expect(stderr).toContain(`into ${place}\n`);
    }
  });

  test('has the key without a line break at its end, which CI systems add', async () => {
    const keys: (string | undefined)[] = [];
    await using server = await serve((response, { headers }) => {
      keys.push(headers.authorization);
      response.writeHead(401).end(JSON.stringify(errorForm('unauthenticated', 'who is this?')));
    });
    const source = folderWith({ 'web.yaml': serviceDocument('web') });
    const environment = { FLEETKEEPER_API_URL: server.url, FLEETKEEPER_API_KEY: 'key\n' };
    await run(['plan', '--source', source], { environment });
    expect(new Set(keys)).toEqual(new Set(['Bearer key']));
  });

  test('does not hide what is planned for another one', async () => {
    await using server = await serve((response, { path: asked }) => {
      const empty = { balanceMicros: 9_000_000, currency: 'USD', services: [], volumes: [], ledger: [] };
      if (asked === '/api/account') response.end(JSON.stringify(empty));
      else if (asked === '/api/me') response.end(JSON.stringify({ id: 'acme', emailVerified: true }));
      else response.writeHead(404).end(JSON.stringify(errorForm('not_found', 'nothing here')));
    });
    const source = folderWith({
      'account.yaml': accountDocument('default', server.url),
      'other.yaml': accountDocument('other', `http://127.0.0.1:${await freePort()}`),
      'web.yaml': serviceDocument('web'),
      'away.yaml': serviceDocument('away', ['accountRef: {name: other}']),
    });
    const environment = { FLEETKEEPER_API_KEY: 'key' };
    const { code, stdout, stderr } = await run(['plan', '--source', source], { environment });
    expect(code).toBe(1);
    expect(stderr).toMatch(/other\.yaml:1: Account other: the account can't be read/);
    expect(stdout).toContain('ContainerService default/web  create');
    expect(stdout).not.toContain('away');
    expect(stdout).toMatch(/1 not observed/);
    const applied = await run(['apply', '--yes', '--source', source], { environment });
    expect(applied.code).toBe(1);
    expect(applied.stderr).toContain('nothing was applied');
    expect(server.requests.filter(({ method }) => method !== 'GET')).toEqual([]);
  });

  test('over https at a server of plain http says so in words', async () => {
    await using server = await serve((response) => response.end('{}'));
    const source = folderWith({ 'web.yaml': serviceDocument('web') });
    const environment = {
      FLEETKEEPER_API_URL: server.url.replace('http:', 'https:'),
      FLEETKEEPER_API_KEY: 'key',
    };
    const { stderr } = await run(['plan', '--source', source], { environment });
    expect(stderr).toMatch(/TLS: wrong version number .*: there is no TLS there; is it an address with http/);
    expect(stderr).not.toMatch(/openssl|\.c:\d+/);
  });
});

test('a second manager of one fleet is not told to take a state of its own', () => {
  const file = temporaryFile('state.db');
  openState(file, systemRandom, { default: 'lab', explicit: undefined }).close();
  const lock = lockState(file, 'process 7 on here (fleetkeeper run --source fleet)');
  try {
    expect(() => lockState(file, 'second')).toThrow(
      expect.objectContaining({
        remedy: expect.stringMatching(/notices edits.*stop it.*only for another fleet/),
      }),
    );
  } finally {
    lock.release();
  }
});
