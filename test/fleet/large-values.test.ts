/** Large values of ConfigMaps and Secrets: many variables that take one cost no more than their names. */
import { expect, test } from 'vitest';
import { ControlPlane } from '../support/processes/control-plane.ts';
import { account, createFleet, service } from '../support/processes/fleet.ts';
import { eventually, temporaryFolder } from '../support/processes/processes.ts';
import { fleetOf } from '../support/processes/replicas.ts';

const kib = 1024;
const settings = (value: string): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'settings' },
  data: { all: value },
});

function taking(count: number): object[] {
  const valueFrom = { configMapKeyRef: { name: 'settings', key: 'all' } };
  return Array.from({ length: count }, (_, at) => ({ name: `SETTING_${at}`, valueFrom }));
}

async function world(value: string) {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write('settings.yaml', [settings(value)]);
  return { plane, fleet };
}

test('an environment that is too large is held by its sum, and its service can be deleted without it', async () => {
  const { plane, fleet } = await world('x');
  await fleet.write('web.yaml', [service('web', { env: taking(40) })]);
  fleet.run();
  await fleet.untilReady(1);
  await fleet.write('settings.yaml', [settings('secret!'.repeat((200 * kib) / 7))]);
  await fleet.write('web.yaml', [service('web', { env: [{ name: 'A', value: '1' }, ...taking(40)] })]);
  const { message } = await fleet.until('ContainerService/web', 'Stalled', 'True', 'InvalidSpec');
  expect(message).toMatch(
    /spec\.env: the environment has 8001 KiB.* may have 256 KiB.* SETTING_1\d \(201 KiB\)/,
  );
  expect(message).not.toContain('secret!');
  await fleet.remove('web.yaml');
  await eventually('its deletion', async () => (await plane.account()).services.length === 0);
});

test('a value that is too large is held by whatever refers to it, and by nothing else', async () => {
  const { fleet } = await world('x'.repeat(300 * kib));
  await fleet.write('web.yaml', [service('web', { env: taking(1) }), service('other')]);
  fleet.run();
  const { message } = await fleet.until('ContainerService/web', 'Stalled', 'True', 'InvalidReference');
  expect(message).toMatch(/`all` of the ConfigMap settings has 300 KiB, and at most 256 KiB are used/);
  await fleet.until('ContainerService/other', 'Ready', 'True');
});

test('a fleet whose replicas would have such an environment makes none', async () => {
  const { plane, fleet } = await world('x'.repeat(200 * kib));
  const place = { region: 'standard', image: 'a/a:1', resources: { cpu: 1, memoryGb: 1 } };
  const spec = { replicas: 2, template: { spec: { ...place, env: taking(40) } } };
  await fleet.write('llm.yaml', [fleetOf('llm', spec)]);
  fleet.run();
  const { message } = await fleet.until('ServiceFleet/llm', 'Stalled', 'True', 'InvalidSpec');
  expect(message).toMatch(/the environment has 8001 KiB/);
  expect((await plane.account()).services).toEqual([]);
});
