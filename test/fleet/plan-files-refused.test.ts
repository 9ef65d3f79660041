/** `apply PLANFILE` when the API refuses a request of the file as invalid: the same file can't continue. */
import { expect } from 'vitest';
import { service, testInFolder, type Json } from '../support/processes/fleet.ts';
import { PlanFileWorld } from '../support/processes/plan-files.ts';

const image = 'ghcr.io/acme/app:2';

testInFolder(
  'a request of the file that the API refuses as invalid is exit 1, and shown as that',
  async () => {
    const world = await (await PlanFileWorld.open()).with(service('web'), service('api'));
    await world.fleet.write('all.yaml', [service('web', { image }), service('api', { image })]);
    await world.plan();
    const { id } = await world.plane.service('web');
    await world.plane.faults([
      {
        method: 'PATCH',
        path: `/api/services/${id}`,
        fault: 'status',
        status: 422,
        code: 'validation_failed',
      },
    ]);
    const { code, stdout, stderr } = await world.apply();
    expect([code, stderr]).toEqual([1, expect.stringContaining('1 of 2 steps are left')]);
    expect(stderr).not.toContain('the same file continues until');
    expect(stderr).toContain('ContainerService default/web: the API has refused the request');
    expect(stdout).toMatch(/web .*Refused/);
    const again = await world.apply('-o', 'json');
    expect(again.code).toBe(1);
    const web = JSON.parse(again.stdout).items.find(({ metadata }: Json) => metadata.name === 'web');
    expect(web.status.conditions).toContainEqual(
      expect.objectContaining({ type: 'Ready', reason: 'Refused' }),
    );
  },
);
