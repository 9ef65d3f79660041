/** The first folder: written, applied as it is, and kept apart from every provider. */
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock, systemRandom } from '../../../src/base/index.ts';
import { startControlPlane } from '../../../src/control-plane/main.ts';
import { createLogger } from '../../../src/telemetry/index.ts';
import { CommandLine, run } from '../../unit/cli/support.ts';
import { freePort, serve } from '../api/support.ts';

const apiKey = 'key-of-the-newcomer-0123456789';

/** The reference control plane, on the clock of this machine. */
async function provider() {
  const account = { name: 'new', email: 'new@example.com', emailVerified: true, balanceMicros: 100_000_000 };
  const plane = await startControlPlane({
    listen: { host: '127.0.0.1', port: 0 },
    database: ':memory:',
    accounts: { accounts: [{ ...account, apiKeys: [apiKey] }] },
    timeScale: 50,
    clock: systemClock,
    random: systemRandom,
    logger: createLogger('silent'),
  });
  onTestFinished(() => plane.close());
  return plane;
}

function emptyFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'fleetkeeper-init-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Nobody is asked, and what runs is not watched for a while before it counts. */
const atOnce = ['--yes', '--stable', '0s'];

const file = (folder: string, name: string) => readFileSync(path.join(folder, name), 'utf8');

describe('a folder for a provider', () => {
  test('a path with a blank is shown as a shell takes it', async () => {
    const { url } = await provider();
    const folder = path.join(emptyFolder(), 'my shop');
    const { stdout } = await run(['init', folder, '--url', url], {
      environment: { FLEETKEEPER_API_KEY: apiKey },
    });
    expect(stdout).toContain(`fleetkeeper plan '${folder}' `);
    expect(stdout).toContain(`fleetkeeper status -f '${folder}'`);
  });

  test('applies as it is, with the key of the environment', async () => {
    const { url } = await provider();
    const folder = path.join(emptyFolder(), 'shop');
    const environment = { FLEETKEEPER_API_KEY: apiKey };
    const made = await run(['init', folder, '--url', url], { environment });
    expect(made.stdout.replaceAll(folder, 'DIR')).toMatchInlineSnapshot(`
      "wrote DIR/account.yaml, DIR/web.yaml, DIR/.gitignore
      The API key stays in your environment.

      Next:
        fleetkeeper plan DIR       # what would be created
        fleetkeeper apply DIR      # create it
        fleetkeeper status -f DIR
        fleetkeeper destroy DIR    # delete all of it
      "
    `);
    expect(readdirSync(folder).sort()).toEqual([
      '.fleetkeeper.schema.json',
      '.gitignore',
      'account.yaml',
      'web.yaml',
    ]);
    expect(file(folder, 'account.yaml').replace(url, 'URL')).toMatchInlineSnapshot(`
      "# yaml-language-server: $schema=.fleetkeeper.schema.json
      # The provider's account. All objects in this folder are in it.
      apiVersion: fleetkeeper.dev/v1alpha1
      kind: Account
      metadata:
        name: default
      spec:
        url: URL
        # Its key is in FLEETKEEPER_API_KEY, or in the file that FLEETKEEPER_API_KEY_FILE names.
        # minimumBalanceMicros: 5000000  # nothing is created that would leave less than 5 USD after an hour
      "
    `);
    expect(file(folder, 'web.yaml')).toMatchInlineSnapshot(`
      "# yaml-language-server: $schema=.fleetkeeper.schema.json
      # A service is one container, kept as it is declared here. Change a line, and \`fleetkeeper plan\` shows what follows.
      apiVersion: fleetkeeper.dev/v1alpha1
      kind: ContainerService
      metadata:
        name: web
      spec:
        # 0.0076 USD an hour with these resources; \`fleetkeeper catalog\` has all regions.
        region: economy
        image: docker.io/library/nginx:1.29
        resources: {gpuCount: 0, cpu: 1, memoryGb: 2}
        httpPort: 80                   # where it answers; \`fleetkeeper open web\` prints the address
        # env:
        #   - {name: GREETING, value: hello}
        # storage: {volumeRef: {name: web-data}}   # the volume below, at /workspace
      # ---
      # apiVersion: fleetkeeper.dev/v1alpha1
      # kind: StorageVolume
      # metadata:
      #   name: web-data
      # spec:
      #   region: economy
      #   sizeGb: 10
      #   deletionPolicy: Delete         # without it, the volume stays when its document is removed
      "
    `);
    const codes = [];
    for (const args of [['plan'], ['apply', ...atOnce], ['plan']]) {
      codes.push((await run([...args, '--source', folder], { environment })).code);
    }
    expect(codes).toEqual([2, 0, 0]);
  });

  test('has the key of a file in a Secret that only its owner reads, and git does not', async () => {
    const { url } = await provider();
    const folder = emptyFolder();
    const keyFile = path.join(emptyFolder(), 'key');
    writeFileSync(keyFile, `${apiKey}\n`);
    const made = await run(['init', folder, '--url', url, '--key-file', keyFile]);
    expect(made.code).toBe(0);
    expect(made.stdout).not.toContain(apiKey);
    expect(statSync(path.join(folder, 'api-key.yaml')).mode & 0o777).toBe(0o600);
    expect(file(folder, '.gitignore').split('\n')).toContain('api-key.yaml');
    expect((await run(['plan', '--source', folder])).code).toBe(2);
  });

  test('is asked for on a terminal, and the key is not shown', async () => {
    const { url } = await provider();
    const folder = emptyFolder();
    const line = new CommandLine(['init', folder], { terminal: true });
    await line.shows('Address of the control API');
    line.type(`${url}\r`);
    await line.shows('API key');
    line.type(`${apiKey}\r`);
    expect(await line.ended).toBe(0);
    expect(line.stdout).not.toContain(apiKey);
    expect((await run(['plan', '--source', folder])).code).toBe(2);
  });

  test('is not written over anything', async () => {
    const folder = emptyFolder();
    writeFileSync(path.join(folder, 'web.yaml'), 'mine');
    const { code, stderr } = await run(['init', folder, '--simulated']);
    expect([code, file(folder, 'web.yaml'), readdirSync(folder)]).toEqual([1, 'mine', ['web.yaml']]);
    expect(stderr).toContain('has web.yaml already: nothing was written');
  });

  test('is not written when the provider does not answer, or does not know the key', async () => {
    const folder = path.join(emptyFolder(), 'shop');
    const nobody = `http://127.0.0.1:${await freePort()}`;
    const { url } = await provider();
    for (const [address, text] of [
      [nobody, "can't read the catalog"],
      [url, "can't read the account"],
    ] as const) {
      const environment = { FLEETKEEPER_API_KEY: 'another-key-0123456789' };
      const { code, stderr } = await run(['init', folder, '--url', address], { environment });
      expect([code, existsSync(folder)]).toEqual([1, false]);
      expect(stderr).toContain(text);
    }
  });

  test('needs to know whose containers they will be', async () => {
    const { code, stderr } = await run(['init', emptyFolder()]);
    expect(code).toBe(1);
    expect(stderr).toContain('--docker');
    expect(stderr).toContain('--simulated');
  });

  test('without a container engine: the command that needs none is named, and works as printed', async () => {
    const folder = path.join(emptyFolder(), 'my shop');
    const environment = { DOCKER_HOST: `unix://${folder}/none.sock` };
    const { code, stderr } = await run(['init', folder, '--docker'], { environment });
    expect([code, existsSync(folder)]).toEqual([1, false]);
    expect(stderr).toContain('no container engine answers');
    expect(stderr).toContain(`\`fleetkeeper init '${folder}' --simulated\``);
    const made = await run(['init', folder, '--simulated'], { environment });
    expect([made.code, made.stdout]).toEqual([0, expect.stringContaining('containers are simulated')]);
    const kept = await run(['dev', '--source', emptyFolder(), '--runtime', 'docker'], { environment });
    expect(kept.stderr).toMatch(/`fleetkeeper dev \S+ --runtime simulated`/);
  });
});

describe('a folder with a control plane of its own', () => {
  async function made(): Promise<string> {
    const folder = path.join(emptyFolder(), 'shop');
    expect((await run(['init', folder, '--simulated'])).code).toBe(0);
    return folder;
  }

  test('applies as it is, command by command, and continues where the last one ended', async () => {
    const folder = await made();
    expect(statSync(path.join(folder, '.fleetkeeper/dev/key')).mode & 0o777).toBe(0o600);
    expect(file(folder, '.fleetkeeper/dev/.gitignore')).toBe('*\n');
    const codes = [];
    for (const args of [['plan'], ['apply', '--yes'], ['plan'], ['logs', 'web'], ['status']]) {
      codes.push((await run([...args, '--source', folder])).code);
    }
    expect(codes).toEqual([2, 0, 0, 0, 0]);
    const opened = await run(['open', 'web', '--source', folder]);
    expect(opened).toMatchObject({ code: 0, stdout: expect.stringMatching(/^https:\S+\n$/) });
    expect(opened.stderr).toContain('nothing answers');
    const executed = await run(['exec', 'web', '--source', folder, '--', 'ls']);
    expect(executed.stdout).toContain('`fleetkeeper init DIR --docker`');
    expect((await run(['destroy', folder, '--yes'])).code).toBe(0);
    const left = await run(['inventory', '--all', '--source', folder]);
    expect(left.stdout).toContain('There is nothing.');
  });

  test('has a volume in comments that applies as it is, too', async () => {
    const folder = await made();
    const text = file(folder, 'web.yaml').replaceAll(/^( *)# (?=( *-)? *\S+:|---)/gm, '$1');
    writeFileSync(path.join(folder, 'web.yaml'), text.replaceAll(/^(yaml-language-server|0\.).*\n/gm, ''));
    expect(await run(['apply', ...atOnce, '--source', folder])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/StorageVolume +default +web-data +ready +True/),
    });
  });

  test('is kept by `dev`, which other commands use, and which deletes nothing when it stops', async () => {
    const folder = await made();
    const dev = new CommandLine(['dev', '--source', folder], {});
    await dev.shows('ContainerService/default/web: Running');
    const address = /http:\/\/127\.0\.0\.1:\d+/.exec(dev.stdout)?.[0];
    expect((await run(['plan', '--source', folder])).code).toBe(0);
    expect((await run(['logs', 'web', '--source', folder])).stdout).toContain('the service is running');
    const second = await run(['apply', '--yes', '--source', folder]);
    expect([second.code, second.stderr]).toEqual([1, expect.stringContaining('fleetkeeper dev')]);
    dev.stop();
    expect(await dev.ended).toBe(0);
    expect((await run(['plan', '--source', folder])).stdout).toContain('Nothing to do');
    const again = new CommandLine(['dev', '--source', folder], {});
    await again.shows('ContainerService/default/web: Running');
    expect(again.stdout).toContain(String(address));
    again.stop();
    expect(await again.ended).toBe(0);
  });

  test('continues in a command that used it when the one that served it ends', async () => {
    const folder = await made();
    await run(['apply', ...atOnce, '--source', folder]);
    const logs = new CommandLine(['logs', 'web', '--follow', '--source', folder], {});
    await logs.shows('the service is running');
    const dev = new CommandLine(['dev', '--source', folder], {});
    await dev.shows('control plane of');
    logs.stop();
    await logs.ended;
    writeFileSync(
      path.join(folder, 'web.yaml'),
      file(folder, 'web.yaml').replace('httpPort: 80 ', 'httpPort: 81 '),
    );
    await dev.shows('patch-service');
    dev.stop();
    expect(await dev.ended).toBe(0);
  });

  test('sends nothing to an Account that a document declares, before or after the start', async () => {
    await using server = await serve((response) => response.writeHead(500).end());
    const folder = await made();
    const document = `apiVersion: fleetkeeper.dev/v1alpha1
kind: Account
metadata: {name: other}
spec: {url: "${server.url}", pollSeconds: 1, credentialsSecretRef: {name: compute, key: apiKey}}
---
apiVersion: fleetkeeper.dev/v1alpha1
kind: StorageVolume
metadata: {name: data}
spec: {region: standard, sizeGb: 10, accountRef: {name: other}}
---
apiVersion: v1
kind: Secret
metadata: {name: compute}
stringData: {apiKey: hush}
`;
    const dev = new CommandLine(['dev', '--source', folder], {});
    await dev.shows('ContainerService/default/web: Running');
    writeFileSync(path.join(folder, 'account.yaml'), document);
    await dev.shows('an Account is not used', 'stderr');
    await dev.shows('StorageVolume/default/data: AccountNotFound');
    dev.stop();
    expect(await dev.ended).toBe(0);
    for (const args of [['dev'], ['plan'], ['apply', '--yes'], ['run'], ['inventory'], ['logs', 'web']]) {
      const { code, stderr } = await run([...args, '--source', folder]);
      expect([args, code]).toEqual([args, 1]);
      expect(stderr).toContain('account.yaml:1 declares the Account other');
    }
    expect(server.requests).toEqual([]);
  });

  test('is not used together with an address in the environment', async () => {
    const folder = await made();
    const environment = { FLEETKEEPER_API_URL: 'http://127.0.0.1:1', FLEETKEEPER_API_KEY: 'key' };
    const { code, stderr } = await run(['apply', '--yes', '--source', folder], { environment });
    expect([code, stderr]).toEqual([1, expect.stringContaining('unset FLEETKEEPER_API_URL')]);
  });

  test.each([
    ['git gave the key the mode of any file', (key: string) => chmodSync(key, 0o644), 'its mode is 0644'],
    ['its group may read the key', (key: string) => chmodSync(key, 0o640), 'its mode is 0640'],
    ['the key is missing', (key: string) => rmSync(key), 'it is missing'],
    [
      'the key is a link to a file that this user made for something else',
      (key: string) => {
        renameSync(key, `${key}.real`);
        symlinkSync(`${key}.real`, key);
      },
      'it is no plain file',
    ],
  ])('is not started if somebody else may have made it: %s', async (_, change, text) => {
    const folder = await made();
    const key = path.join(folder, '.fleetkeeper/dev/key');
    change(key);
    // Whoever serves the control plane writes its log and database.
    const written = () =>
      readdirSync(path.dirname(key)).map((name) => [
        name,
        lstatSync(path.join(path.dirname(key), name)).mtimeMs,
      ]);
    const before = written();
    for (const args of [['plan'], ['apply', '--yes'], ['dev'], ['logs', 'web']]) {
      const { code, stderr } = await run([...args, '--source', folder]);
      expect([args, code]).toEqual([args, 1]);
      expect(stderr).toContain(text);
      expect(stderr).toContain('remove it');
    }
    expect(written()).toEqual(before);
  });

  test('is not started where it was copied to, whatever its modes are, unless a person writes that it is theirs', async () => {
    const from = await made();
    const to = path.join(emptyFolder(), 'unpacked');
    cpSync(from, to, { recursive: true, preserveTimestamps: true });
    expect(lstatSync(path.join(to, '.fleetkeeper/dev/key')).mode & 0o777).toBe(0o600);
    const { code, stderr } = await run(['plan', '--source', to]);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/did this user make it\?[^]*remove it/)]);
    const [, advised] = /write "folder": ("\d+") into/.exec(stderr) ?? [];
    const settings = path.join(to, '.fleetkeeper/dev/settings.json');
    writeFileSync(
      settings,
      file(to, '.fleetkeeper/dev/settings.json').replace(/"folder":"\d+"/, `"folder":${advised}`),
    );
    expect((await run(['plan', '--source', to])).code).toBe(2);
    const moved = path.join(emptyFolder(), 'moved');
    renameSync(from, moved);
    expect((await run(['plan', '--source', moved])).code).toBe(2);
  });

  test('is not that of another folder, to which a link leads', async () => {
    const from = await made();
    const to = path.join(emptyFolder(), 'cloned');
    mkdirSync(path.join(to, '.fleetkeeper'), { recursive: true });
    symlinkSync(path.join(from, '.fleetkeeper/dev'), path.join(to, '.fleetkeeper/dev'));
    const { code, stderr } = await run(['plan', '--source', to]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('.fleetkeeper/dev is a link')]);
  });

  test.each(['key', '.gitignore', 'settings.json.new', 'control-plane.log', 'control-plane.db', ''])(
    'is not made through a link that came with the folder: %s',
    async (name) => {
      const folder = path.join(emptyFolder(), 'cloned');
      const theirs = path.join(emptyFolder(), 'profile');
      writeFileSync(theirs, 'precious', { mode: 0o640 });
      mkdirSync(path.join(folder, '.fleetkeeper', name && 'dev'), { recursive: true });
      const target = name === '' ? path.dirname(theirs) : theirs;
      symlinkSync(target, path.join(folder, '.fleetkeeper/dev', name));
      const dev = new CommandLine(['dev', folder, '--runtime', 'simulated'], {});
      const isSafe = ['key', '.gitignore', 'settings.json.new'].includes(name);
      if (isSafe) {
        await dev.shows('control plane of');
        dev.stop();
      }
      expect(await dev.ended).toBe(isSafe ? 0 : 1);
      expect([readFileSync(theirs, 'utf8'), statSync(theirs).mode & 0o777]).toEqual(['precious', 0o640]);
      expect(readdirSync(path.dirname(theirs))).toEqual(['profile']);
    },
  );

  test('is not made from the folder of a fleet at a provider', async () => {
    const { url } = await provider();
    const folder = emptyFolder();
    const environment = { FLEETKEEPER_API_URL: url, FLEETKEEPER_API_KEY: apiKey };
    const document =
      'apiVersion: fleetkeeper.dev/v1alpha1\nkind: StorageVolume\nmetadata: {name: data}\nspec: {region: standard, sizeGb: 10}\n';
    writeFileSync(path.join(folder, 'data.yaml'), document);
    expect((await run(['apply', ...atOnce, '--source', folder], { environment })).code).toBe(0);
    const { code, stderr } = await run(['dev', '--source', folder, '--runtime', 'simulated']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('has a state already')]);
  });
});

test('without a container engine, `dev` simulates containers and reports why', async () => {
  const folder = emptyFolder();
  const document =
    'apiVersion: fleetkeeper.dev/v1alpha1\nkind: StorageVolume\nmetadata: {name: data}\nspec: {region: standard, sizeGb: 10}\n';
  writeFileSync(path.join(folder, 'data.yaml'), document);
  const environment = { DOCKER_HOST: 'unix:///nonexistent/engine.sock' };
  const dev = new CommandLine(['dev', folder], { environment });
  await dev.shows('StorageVolume/default/data: Provisioned');
  expect(dev.stderr).toMatch(/containers are simulated, because .*[^]*\/nonexistent\/engine\.sock/);
  dev.stop();
  expect(await dev.ended).toBe(0);
  const real = await run(['dev', folder, '--runtime', 'docker'], { environment });
  expect([real.code, real.stderr]).toEqual([1, expect.stringContaining("can't become real")]);
});

test('an empty key file, and a file in the place of the folder, are errors for people', async () => {
  const keyFile = path.join(emptyFolder(), 'key');
  writeFileSync(keyFile, '\n');
  const empty = await run(['init', emptyFolder(), '--url', 'http://127.0.0.1:1', '--key-file', keyFile]);
  expect([empty.code, empty.stderr]).toEqual([1, expect.stringContaining('is empty')]);
  const taken = await run(['init', keyFile, '--simulated']);
  expect([taken.code, taken.stderr]).toEqual([1, expect.stringContaining("can't make the folder")]);
});

test('without a container engine, --docker names what was tried, and nothing is left', async () => {
  const folder = path.join(emptyFolder(), 'shop');
  const environment = { DOCKER_HOST: 'unix:///nonexistent/engine.sock' };
  const { code, stderr } = await run(['init', folder, '--docker'], { environment });
  expect([code, existsSync(folder)]).toEqual([1, false]);
  expect(stderr).toContain('/nonexistent/engine.sock');
});
