/**
 * `control-plane --runtime docker`, with podman. All on one engine, one test after the other: two of them would share
 * the firewall of this machine.
 */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { testConformance } from './docker/conformance.ts';
import { testCrash } from './docker/crash.ts';
import { testEgress } from './docker/egress.ts';
import { testFirstMinute } from './docker/first-minute.ts';
import { testLife } from './docker/life.ts';
import { testReplicas } from './docker/replicas.ts';
import { testTrouble } from './docker/trouble.ts';
import { isWithoutContainers, useEngine } from '../support/processes/docker-world.ts';
import { fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';

describe.skipIf(isWithoutContainers)('real containers', () => {
  const engine = useEngine();
  describe('live', () => {
    testLife(engine);
    testCrash(engine);
    testReplicas(engine);
  });
  describe('in trouble', () => {
    testTrouble(engine);
  });
  testEgress(engine);
  testFirstMinute(engine);
  testConformance(() => ['--runtime', 'docker', '--docker-socket', engine().podman.socket]);
});

test('without an engine the command says what is missing', async () => {
  const accounts = path.join(await temporaryFolder(), 'accounts.yaml');
  await writeFile(accounts, 'accounts: [{name: a, email: a@b.example, apiKeys: [key-of-nobody]}]');
  const args = ['control-plane', '--listen', '127.0.0.1:0', '--database', ':memory:', '--accounts', accounts];
  const runtime = ['--runtime', 'docker', '--docker-socket', '/nonexistent/docker.sock'];
  const { code, stderr } = await fleetkeeper([...args, ...runtime]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/can't reach a container engine at \/nonexistent\/docker\.sock[^]*--docker-socket/);
  const secure = await fleetkeeper([...args, '--runtime', 'docker'], { DOCKER_HOST: 'ssh://me@host' });
  expect(secure.stderr).toContain('DOCKER_HOST is ssh://me@host');
});
