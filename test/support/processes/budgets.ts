/** A fleet in an account, and budgets that only report. */
import { apiVersion } from '../../../src/resources/index.ts';
import { ControlPlane } from './control-plane.ts';
import { account, createFleet, type Fleet } from './fleet.ts';
import { temporaryFolder } from './processes.ts';

export async function fleetInAccount(): Promise<Fleet> {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  return fleet;
}

export const reportingBudget = (name: string, spec: object): object => ({
  apiVersion,
  kind: 'Budget',
  metadata: { name },
  spec: { limits: { hourlyMicros: 1 }, mode: 'Report', ...spec },
});
