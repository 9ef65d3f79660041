/** Real containers that fail a moment after their start. */
import { expect, test } from 'vitest';
import { account, FleetFolder, service } from '../../support/processes/fleet.ts';
import { idler, keys } from '../../support/processes/container-world.ts';
import { World, type Engine } from '../../support/processes/docker-world.ts';
import { fleetkeeper, temporaryFolder } from '../../support/processes/processes.ts';

export function testCrash(engine: () => Engine): void {
  test('apply does not report a container as running that ends three seconds after its start', async () => {
    const world = await World.start(engine());
    const fleet = new FleetFolder(await temporaryFolder());
    const { image, resources } = idler;
    const command = ['sh', '-c', 'echo starting; sleep 3; echo out of luck; exit 3'];
    const [document] = account(world.plane.url, { pollSeconds: 600 });
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'compute' } };
    const documents = [document ?? {}, { ...secret, stringData: { apiKey: keys.acme } }];
    await fleet.write('fleet.yaml', [...documents, service('crash', { image, resources, command })]);
    const { code, stderr } = await fleetkeeper(['apply', ...fleet.flags, '--yes']);
    expect(stderr).toContain('ContainerService default/crash: Running');
    expect(stderr).toMatch(/^ContainerService default\/crash: ServiceError: .*exit/m);
    expect(code).toBe(1);
  });
}
