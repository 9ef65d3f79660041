import { expect, test } from 'vitest';
import { ControlPlane } from '../support/processes/control-plane.ts';
import { account, createFleet, service, volume } from '../support/processes/fleet.ts';
import { temporaryFolder } from '../support/processes/processes.ts';

// COVERAGE 9, 11, 17, 26, 43
test('a mutation rests on a read made for it, and a disruptive one on the activities of that moment, too', async () => {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  const documents = (image: string, sizeGb: number) => [
    ...account(plane.url),
    service('web', { image, sleepAfterMinutes: sizeGb }),
    volume('data', { sizeGb }),
  ];
  await fleet.write('fleet.yaml', documents('ghcr.io/acme/app:1', 10));
  expect((await fleet.apply()).code).toBe(0);
  const [web, data] = [await plane.service('web'), await plane.volume('data-')];
  await plane.forgetRequests();
  await fleet.write('fleet.yaml', documents('ghcr.io/acme/app:2', 20));
  expect((await fleet.apply()).code).toBe(0);

  const requests = await plane.requests();
  const before = (method: string, path: string) => {
    const about = requests.filter((request) =>
      request.path.startsWith(path.split('/').slice(0, 4).join('/')),
    );
    const at = about.findIndex((request) => request.method === method && request.path === path);
    return about.slice(0, at).map((request) => `${request.method} ${request.path}`);
  };
  const webPath = `/api/services/${web.id}`;
  expect(before('PATCH', webPath).slice(-2)).toEqual([`GET ${webPath}`, `GET ${webPath}/activity`]);
  expect(before('PATCH', `${webPath}/sleep`).at(-1)).toBe(`GET ${webPath}`);
  expect(before('PATCH', `/api/volumes/${data.id}`).at(-1)).toBe(`GET /api/volumes/${data.id}`);
});
