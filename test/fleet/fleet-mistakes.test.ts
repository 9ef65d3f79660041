/** Documents of fleets that can't be meant, and what people read about them. */
import { expect } from 'vitest';
import { ControlPlane } from '../support/processes/control-plane.ts';
import { account, createFleet, testInFolder } from '../support/processes/fleet.ts';
import { fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';
import { fleetOf, template } from '../support/processes/replicas.ts';

async function planOf(spec: object): Promise<string> {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write('llm.yaml', [fleetOf('llm', spec)]);
  const { stdout, stderr } = await fleetkeeper(['plan', ...fleet.flags]);
  return `${stdout}\n${stderr}`;
}

testInFolder(
  'two schedules or candidates of one name are refused, and each mistake is named once',
  async () => {
    const night = { name: 'night', cron: '0 22 * * *', durationMinutes: 99_999, maxReplicas: 0 };
    const twice = await planOf({ schedules: [night, { ...night, durationMinutes: 10 }] });
    expect(twice).toContain('spec.schedules[1].name: the schedule night is given twice');
    expect(twice.match(/durationMinutes/g)).toHaveLength(1);
    const home = { name: 'home', region: 'standard' };
    expect(await planOf({ placement: { candidates: [home, home] } })).toContain(
      'spec.placement.candidates[1].name: the candidate home is given twice',
    );
  },
);

testInFolder('a candidate in an Account that is not there is something for a person', async () => {
  const away = { name: 'away', region: 'standard', accountRef: { name: 'nobody' } };
  const plan = await planOf({ placement: { candidates: [{ name: 'home', region: 'standard' }, away] } });
  expect(plan).toMatch(/! ServiceFleet default\/llm +AccountNotFound/);
  expect(plan).toContain('there is no Account nobody in the namespace default');
});

testInFolder('a command in a template is for nobody', async () => {
  const metadata = { annotations: { 'fleetkeeper.dev/command': 'retire:1@12345678' } };
  const plan = await planOf({ template: { ...template(), metadata } });
  expect(plan).toMatch(/! ServiceFleet default\/llm +InvalidAnnotation/);
  expect(plan).toContain('spec.template.metadata.annotations.fleetkeeper.dev/command: no template gives it');
});
