/**
 * Mistakes of a first document, as people make them who know Docker Compose, Kubernetes or a cloud. Each message names what was found, where,
 * and what to write instead. `mistakes/expected.txt` has all of them; `vitest -u` writes it again, to be read by a person.
 */
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { ControlPlane } from '../support/processes/control-plane.ts';
import { account, createFleet, service, testInFolder } from '../support/processes/fleet.ts';
import { fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';

const folder = path.join(import.meta.dirname, 'mistakes');
const files = readdirSync(folder).filter((name) => /^\d/.test(name));

async function world() {
  const place = await temporaryFolder();
  const plane = await new ControlPlane(place).start();
  const fleet = await createFleet(place);
  await fleet.write('account.yaml', account(plane.url));
  return { plane, fleet };
}

/** What is wrong, without the differences of what is held. */
function told({ stdout, stderr }: { readonly stdout: string; readonly stderr: string }): string[] {
  const lines = stdout.split('\n');
  const held = lines.flatMap((line, index) => (line.startsWith('  !') ? [line, lines[index + 1] ?? ''] : []));
  return [...stderr.split('\n').filter((line) => line !== ''), ...held];
}

testInFolder(
  'the mistakes of a first document are named with their place, and with what to write',
  async () => {
    const { plane, fleet } = await world();
    const report: string[] = [];
    for (const name of files) {
      await fleet.write(name, readFileSync(path.join(folder, name), 'utf8'));
      const done = await fleetkeeper(['plan', ...fleet.flags]);
      const lines = told(done);
      expect([name, done.code === 0, lines.length > 0]).toEqual([name, false, true]);
      report.push(`# ${name} (exit code ${done.code})`, ...lines, '');
      await fleet.remove(name);
    }
    const text = report.join('\n');
    await expect(text).toMatchFileSnapshot(path.join(folder, 'expected.txt'));
    expect(text).not.toContain('sk-live');
    expect(files.length).toBeGreaterThanOrEqual(20);
    expect((await plane.account()).services).toEqual([]);
  },
);

testInFolder(
  'what editors add is no mistake: a byte order mark, line ends of Windows, other endings of files',
  async () => {
    const { fleet } = await world();
    const document = JSON.stringify(service('json'));
    await fleet.write('windows.yml', `\uFEFF${yamlOf('windows').replaceAll('\n', '\r\n')}`);
    await fleet.write('some.json', document);
    await fleet.write('empty.yaml', '');
    const { code, plan } = await fleet.plan();
    expect([code, plan.problems]).toEqual([2, []]);
    expect(plan.changes.map(({ name }: { name: string }) => name)).toEqual(['json', 'windows']);
  },
);

function yamlOf(name: string): string {
  return [
    'apiVersion: fleetkeeper.dev/v1alpha1',
    'kind: ContainerService',
    `metadata: {name: ${name}}`,
    'spec:',
    '  region: standard',
    '  image: docker.io/library/nginx:1.29',
    '  resources: {cpu: 1, memoryGb: 2}',
    '',
  ].join('\n');
}
