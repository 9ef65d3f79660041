/** The image of `npm run image`, how little it needs, and how large it is. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { version } from '../../src/cli/version.ts';
import { definitionStream } from '../../src/crdgen/index.ts';
import { reasons, sectionOf } from '../../src/reasons/index.ts';
import { containerOf } from '../support/manifests/pod-security.ts';
import { ofKind, plainFiles } from '../support/manifests/render.ts';
import { isWithoutContainers } from '../support/processes/docker-world.ts';
import { Image } from '../support/processes/image.ts';
import { eventually, temporaryFolder } from '../support/processes/processes.ts';

/** What gcr.io/distroless/cc-debian12 consists of, as Debian states the installed sizes of its packages. */
const largestBaseBytes = 27_000_000;

const accounts =
  'accounts: [{name: a, email: a@b.example, balanceMicros: 100000000, apiKeys: [key-of-a-user]}]';
const fleet = `apiVersion: v1
kind: Secret
metadata: {name: compute}
stringData: {apiKey: key-of-a-user}
---
apiVersion: fleetkeeper.dev/v1alpha1
kind: Account
metadata: {name: default}
spec: {url: 'http://127.0.0.1:8787', credentialsSecretRef: {name: compute, key: apiKey}, pollSeconds: 1}
---
apiVersion: fleetkeeper.dev/v1alpha1
kind: ContainerService
metadata: {name: web}
spec: {region: standard, image: nginx, resources: {cpu: 1, memoryGb: 1}, httpPort: 80}
`;

describe.skipIf(isWithoutContainers)(
  'the image, as nobody, without capabilities, network or a file to write to',
  () => {
    let image: Image;
    let built: string;
    beforeAll(async () => {
      image = new Image();
      built = await image.build();
    });
    afterAll(() => image[Symbol.asyncDispose]());

    test('runs the command', async () => {
      expect(await image.fleetkeeper('--version')).toBe(version);
      expect(`${await image.fleetkeeper('crds')}\n`).toBe(definitionStream());
    });

    test('applies a folder that is mounted, with a control plane of its own', async () => {
      const folder = await temporaryFolder();
      chmodSync(folder, 0o755);
      writeFileSync(path.join(folder, 'accounts.yaml'), accounts);
      mkdirSync(path.join(folder, 'fleet'));
      writeFileSync(path.join(folder, 'fleet/web.yaml'), fleet);
      const address = ['--listen', '127.0.0.1:8787', '--database', ':memory:', '--time-scale', '100'];
      const pod = await image.start(
        folder,
        'control-plane',
        ...address,
        '--accounts',
        '/fleet/accounts.yaml',
      );
      const catalog = 'http://127.0.0.1:8787/api/catalog';
      await eventually('its control plane answers', async () =>
        (await pod.probe(catalog)).includes('regions'),
      );
      const flags = ['--source', '/fleet/fleet', '--state', '/tmp/state.db'];
      const report = await pod.exec('fleetkeeper', 'apply', '--yes', ...flags);
      expect(report).toContain('ContainerService');
      expect(await pod.exec('fleetkeeper', 'status', ...flags)).toMatch(/web.*running/);
      expect(await pod.stop(10)).toBe(0);
    });

    test('plays the demo to its end', async () => {
      const pod = await image.start(await temporaryFolder(), 'demo');
      expect(await pod.ended()).toEqual({ code: 0, output: expect.stringContaining('All seen') });
    });

    test('says what is missing where there is no cluster', async () => {
      await expect(image.fleetkeeper('run', '--source=kubernetes')).rejects.toThrow(
        'no Kubernetes API to talk to',
      );
    });

    test.each(ofKind(plainFiles(), 'Deployment').map(containerOf))(
      'runs as its Deployment says, answers its probes, and stops when it is told to',
      async ({ args = [], env = [], livenessProbe, readinessProbe }) => {
        const environment = env.map(({ name, value = 'mine' }) => `${name}=${value}`);
        const pod = await image.startInPod(args, environment);
        const address = (probePath = '') => `http://127.0.0.1:8080${probePath}`;
        const alive = address(livenessProbe?.httpGet.path);
        await eventually('it is alive', async () => (await pod.probe(alive)).trim() === 'ok');
        // The API server does not answer, so nobody knows which operators are at work.
        expect(await pod.probe(address(readinessProbe?.httpGet.path))).toContain(
          'it is not known yet whether operators of another division are at work',
        );
        expect(await pod.stop(10)).toBe(0);
      },
    );

    test('hardens Node, gives no file of its own to who runs in it, and has no shell', async () => {
      const report = `
      process.kill(process.pid, 'SIGUSR1');
      const files = fs.readdirSync('/usr/local', { recursive: true }).map((file) => '/usr/local/' + file);
      setTimeout(() => console.log(JSON.stringify({
        debugger: require('inspector').url() ?? null,
        prototype: typeof {}.__proto__,
        mine: files.filter((file) => fs.lstatSync(file).uid === process.getuid()),
        program: fs.readdirSync('/usr/local/lib/fleetkeeper'),
      })), 500);`;
      expect(JSON.parse(await image.program('/usr/local/bin/node', '-e', report))).toEqual({
        debugger: null,
        prototype: 'undefined',
        mine: [],
        program: ['LICENSE', 'dist', 'docs', 'examples'],
      });
      await expect(image.program('/bin/sh', '-c', 'true')).rejects.toThrow('/bin/sh');
    });

    test('has the documents that its messages name', async () => {
      const list =
        "console.log(fs.readdirSync('/usr/local/lib/fleetkeeper/docs', { recursive: true }).join(' '))";
      const there = (await image.program('/usr/local/bin/node', '-e', list)).trim().split(' ');
      const named = Object.values(reasons).map((reason) => sectionOf(reason).replace(/^docs\/|#.*/g, ''));
      const others = ['README.md', 'quickstart.md', 'how-to/import.md', 'reference/fields.md'];
      expect([...new Set(named), ...others].filter((document) => !there.includes(document))).toEqual([]);
      expect(await image.fleetkeeper('--help')).toContain('Documents: /usr/local/lib/fleetkeeper/docs');
    });

    test('is not root, smaller than 150 MB, and says what it is', async () => {
      const { Size: bytes, Config: config } = await image.inspect();
      expect(bytes - (await image.baseBytes()) + largestBaseBytes).toBeLessThan(150_000_000);
      expect(built).toMatch(/^localhost\/fleetkeeper:test: \d+\.\d MB, linux\/(?:amd64|arm64)$/m);
      expect(config).toMatchObject({
        User: '65532:65532',
        Entrypoint: ['/usr/local/bin/fleetkeeper'],
        Labels: {
          'org.opencontainers.image.title': 'Fleetkeeper',
          'org.opencontainers.image.version': version,
          'org.opencontainers.image.licenses': 'Apache-2.0',
        },
      });
    });
  },
);

test('no image is made with what is no program for Linux', () => {
  const make = (...args: string[]) =>
    spawnSync(process.execPath, ['scripts/image.cjs', ...args], { encoding: 'utf8' });
  expect(make('--prepare', '--node', 'package.json').stderr).toContain('it is no 64-bit program for Linux');
});
