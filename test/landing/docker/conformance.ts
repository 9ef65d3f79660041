/** Real containers: the contract, fact by fact. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { everyAccount, Plane, Run } from '../../support/processes/conformance.ts';
import { unbounded } from '../../support/processes/container-world.ts';
import { fixtureImage } from '../../support/processes/podman.ts';
import { temporaryFolder } from '../../support/processes/processes.ts';

const resources = (cpu: number, memoryGb: number) => JSON.stringify({ gpuCount: 0, cpu, memoryGb });

/** `runtime`: the flags of the control plane that name it. */
export function testConformance(runtime: () => readonly string[]): void {
  test('the reference control plane conforms with real containers, too', async () => {
    const config = path.join(await temporaryFolder(), 'config.yaml');
    await writeFile(config, `containers: {capacity: ${unbounded}}`);
    const plane = await Plane.start(...runtime(), '--config', config);
    const options = [
      await everyAccount(plane, fixtureImage),
      ['--image', fixtureImage, '--other-image', fixtureImage, '--http-port', '8080'],
      ['--resources', resources(0.5, 0.0625), '--other-resources', resources(0.75, 0.125)],
      ['--geography', 'europe', '--broken-image', 'registry.invalid/app:1'],
      ['--exec-body', '{"command":["true"]}', '--timeout', '120'],
    ];
    const run = new Run(plane, ...options.flat());
    const code = await run.code();
    const [all = ''] = /^all .*$/m.exec(run.output) ?? [];
    process.stdout.write(`conformance of real containers: ${all}\n`);
    expect([code, run.output]).toEqual([0, expect.stringMatching(/^all +\d{3} passed, 0 failed/m)]);
    expect(await plane.countOf('key-of-tester')).toBe(0);
  }, 600_000);
}
