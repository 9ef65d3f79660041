/** The image of the operator, and how little it needs. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { version } from '../../src/cli/version.ts';
import { definitionStream } from '../../src/crdgen/index.ts';
import { containerOf } from '../support/manifests/pod-security.ts';
import { ofKind, plainFiles } from '../support/manifests/render.ts';
import { isWithoutContainers } from '../support/processes/docker-world.ts';
import { Image } from '../support/processes/image.ts';
import { eventually } from '../support/processes/processes.ts';

describe.skipIf(isWithoutContainers)(
  'the image, as nobody, without capabilities, network or a file to write to',
  () => {
    let image: Image;
    beforeAll(async () => {
      image = new Image();
      await image.build();
    });
    afterAll(() => image[Symbol.asyncDispose]());

    test('runs the command', async () => {
      expect(await image.fleetkeeper('--version')).toBe(version);
      expect(`${await image.fleetkeeper('crds')}\n`).toBe(definitionStream());
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
        for (const probe of [livenessProbe, readinessProbe]) {
          const path = probe?.httpGet.path;
          const address = `http://127.0.0.1:8080${path}`;
          await eventually(`an answer at ${path}`, async () => (await pod.probe(address)) === 'ok');
        }
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
        program: ['LICENSE', 'dist', 'examples'],
      });
      await expect(image.program('/bin/sh', '-c', 'true')).rejects.toThrow('/bin/sh');
    });

    test('is not root, smaller than 250 MB, and says what it is', async () => {
      const { Size: bytes, Config: config } = (await image.inspect()) as { Size: number; Config: object };
      expect(bytes).toBeLessThan(250_000_000);
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

test('the image is made with the Node that everything is tested with', () => {
  const { devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    devDependencies: Record<string, string>;
  };
  expect(/^ARG NODE_VERSION=(.*)$/m.exec(readFileSync('Dockerfile', 'utf8'))?.[1]).toBe(
    devDependencies['node'],
  );
});
