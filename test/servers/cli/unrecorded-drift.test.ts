/** Drift that is only reported, on a runner without a state: nobody can tell it from an edit of the document there, so it is left. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { apiKey, ControlPlane, isMutation } from '../../support/processes/control-plane.ts';
import { service, type Json } from '../../support/processes/fleet.ts';
import { temporaryFolder } from '../../support/processes/processes.ts';
import { readPlanJson } from '../../support/plan-form.ts';
import { run } from '../../unit/cli/support.ts';

const applied = ['--yes', '--stable', '0s', '--timeout', '20s'];

async function runner(document: object) {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder, { timeScale: 1000 }).start();
  const fleet = path.join(folder, 'fleet');
  await mkdir(fleet);
  const write = (next: object) => writeFile(path.join(fleet, 'web.yaml'), stringify(next));
  const environment = {
    FLEETKEEPER_API_URL: plane.url,
    FLEETKEEPER_API_KEY: apiKey,
    FLEETKEEPER_DIGEST_KEY: 'a-digest-key-of-the-test-0123456789abcdef',
  };
  const command = (name: 'plan' | 'apply', ...flags: string[]) =>
    run([name, '--source', fleet, '--owner', 'shop', ...flags], { environment });
  const fresh = async (name: 'plan' | 'apply', ...flags: string[]) => {
    await rm(path.join(fleet, '.fleetkeeper'), { recursive: true, force: true });
    return command(name, ...flags);
  };
  const apply = () => fresh('apply', ...applied);
  const kept = () => command('apply', ...applied);
  const sent = async () => (await plane.requests()).filter(isMutation).length;
  await write(document);
  expect((await apply()).code).toBe(0);
  const hotfix = async () => {
    const { id, revision } = await plane.service('web');
    await plane.call('PATCH', `/api/services/${id}`, { revision, patch: { image: 'ghcr.io/acme/hotfix:1' } });
    await plane.forgetRequests();
  };
  const image = async (): Promise<string> => (await plane.service('web')).image;
  return { write, fresh, apply, kept, sent, hotfix, image };
}

const accepting = (spec: object = {}): Json => {
  const document: Json = service('web', spec);
  const annotations = { 'fleetkeeper.dev/accept-drift-until': '2099-01-01T00:00:00Z' };
  return { ...document, metadata: { ...document.metadata, annotations } };
};

test.each([
  {
    name: 'driftPolicy: Report',
    document: service('web', { driftPolicy: 'Report' }),
    reason: 'DriftReported',
    code: 2,
  },
  { name: 'accept-drift-until', document: accepting(), reason: 'DriftAccepted', code: 0 },
])('a hotfix at the provider is left under $name, and shown', async ({ document, reason, code }) => {
  const { fresh, apply, sent, hotfix, image } = await runner(document);
  await hotfix();
  const planned = await fresh('plan', '-o', 'json');
  expect(planned.code).toBe(code);
  expect(readPlanJson(planned.stdout)).toMatchObject({ changes: [], held: [{ name: 'web', reason }] });
  await apply();
  expect([await sent(), await image()]).toEqual([0, 'ghcr.io/acme/hotfix:1']);
});

test('under Correct it is put back, and under Report a value that the mark shows to be another is sent', async () => {
  const corrected = await runner(service('web'));
  await corrected.hotfix();
  expect((await corrected.apply()).code).toBe(0);
  expect(await corrected.image()).not.toContain('hotfix');
  const withToken = (value: string) =>
    service('web', { driftPolicy: 'Report', env: [{ name: 'TOKEN', value }] });
  const { write, fresh } = await runner(withToken('one'));
  await write(withToken('two'));
  const planned = await fresh('plan', '-o', 'json');
  expect(readPlanJson(planned.stdout)).toMatchObject({ changes: [{ action: 'update' }], held: [] });
});

test('the state that is kept from then on leaves the hotfix, too, and applies the next edit of the document', async () => {
  const { write, apply, kept, sent, hotfix, image } = await runner(
    service('web', { driftPolicy: 'Report', sleepAfterMinutes: 0 }),
  );
  await hotfix();
  await apply();
  await kept();
  expect([await sent(), await image()]).toEqual([0, 'ghcr.io/acme/hotfix:1']);
  await write(service('web', { driftPolicy: 'Report', sleepAfterMinutes: 0, image: 'ghcr.io/acme/app:3' }));
  await kept();
  expect(await image()).toBe('ghcr.io/acme/app:3');
});
