/** What people see while a fleet converges. */
import { expect, test } from 'vitest';
import { ControlPlane, isMutation } from '../support/processes/control-plane.ts';
import {
  createFleet,
  account,
  folderOf,
  isInCluster,
  service,
  testInFolder,
  volume,
} from '../support/processes/fleet.ts';
import { eventually, launch, nowMs, temporaryFolder } from '../support/processes/processes.ts';
import { isSimulated } from '../support/world.ts';

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  return { folder, plane, fleet };
}

const image = 'registry.invalid/acme/app:1';

/** Somebody else starts the service anew with an image that can't be pulled. */
async function fail(plane: ControlPlane, name: string): Promise<void> {
  const live = await eventually('a service that runs', async () => {
    const found = await plane.service(name);
    return found?.state === 'running' && found;
  });
  await plane.call('PATCH', `/api/services/${live.id}`, { revision: live.revision, patch: { image } });
}

testInFolder('a service that fails a moment after its start is not reported as running', async () => {
  const { plane, fleet } = await world();
  const spec = { driftPolicy: 'Report' };
  await fleet.write('fleet.yaml', [...account(plane.url, { pollSeconds: 600 }), service('web', spec)]);
  const applying = launch(['apply', ...fleet.flags, '--yes', '--stable', '20s']);
  await fleet.until('ContainerService/web', 'Ready', 'True');
  await fail(plane, 'web');
  const { code, stdout, stderr } = await applying.finished();
  expect(code).toBe(1);
  expect(stderr).toContain('1 object(s) need a person: ContainerService default/web (ServiceError)');
  expect(stderr).toMatch(
    /^ContainerService default\/web: ServiceError: .*the service is in error: .*pull the image/m,
  );
  expect(stdout).toMatch(/web +error +False .*ServiceError/);
});

testInFolder(
  'what was started and stays Ready is read once more; what was not changed is not waited for',
  async () => {
    const { plane, fleet } = await world();
    await fleet.write('fleet.yaml', [
      ...account(plane.url, { pollSeconds: 600 }),
      service('web'),
      volume('data'),
    ]);
    const startedAtMs = nowMs();
    expect(await fleet.apply('--stable', '20s')).toMatchObject({ code: 0 });
    const firstMs = nowMs() - startedAtMs;
    expect(firstMs).toBeGreaterThan(20_000);
    await plane.forgetRequests();
    expect(await fleet.apply('--stable', '20s')).toMatchObject({ code: 0 });
    expect(nowMs() - startedAtMs - firstMs).toBeLessThan(15_000);
    expect((await plane.requests()).filter(isMutation)).toEqual([]);
  },
);

testInFolder('the time limit also ends the time in which what was started must stay Ready', async () => {
  const { plane, fleet } = await world();
  await fleet.write('fleet.yaml', [...account(plane.url), service('web')]);
  const { code, stderr } = await fleet.apply('--stable', '10m', '--timeout', '15s');
  expect([code, stderr]).toEqual([0, expect.not.stringContaining('not all objects')]);
});

testInFolder('off a terminal, each change is a line with its reason and message', async () => {
  const { plane, fleet } = await world();
  const env = [{ name: 'KEY', valueFrom: { secretKeyRef: { name: 'keys', key: 'api' } } }];
  await fleet.write('fleet.yaml', [...account(plane.url), service('web', { env }), volume('data')]);
  const { code, stderr } = await fleet.apply();
  expect(code).toBe(1);
  const lines = stderr.split('\n').filter((line) => /^(ContainerService|StorageVolume) /.test(line));
  expect(lines).toEqual([
    expect.stringMatching(/^ContainerService default\/web: InvalidReference: .*Secret.*keys/),
    'StorageVolume default/data: create-volume: Create',
    'StorageVolume default/data: Provisioned',
  ]);
});

/** The table alone, without the plan before it and the list after it; times differ with the pace of the engine. */
function tableIn(screen: string): string {
  const [, table = ''] = /(?:^|\n)(\d+ ready[^]*?)(?:\nKIND [^]*)?$/.exec(screen) ?? [];
  return table
    .replaceAll(/\(\d+:\d\d\)/g, '(M:SS)')
    .replaceAll(/ {2}\d+[smhd] +/g, '  TIME  ')
    .replaceAll(/[0-9a-f-]{36}/g, 'ID')
    .replaceAll(/fleet\.yaml:\d+/g, 'fleet.yaml:N');
}

test.skipIf(!isSimulated || isInCluster).for([80, 120])(
  'on a terminal, a table of %i columns shows what each object waits for, and its last state stays',
  async (columns) => {
    const { plane, fleet } = await world();
    const { flags } = folderOf(fleet);
    const env = [{ name: 'KEY', valueFrom: { secretKeyRef: { name: 'keys', key: 'api' } } }];
    await fleet.write('fleet.yaml', [
      ...account(plane.url),
      service('api'),
      service('broken', { image }),
      service('no-secret', { env }),
      service('probed', { httpPort: 8080, readiness: { path: '/healthz' } }),
      volume('data'),
      service('trainer', { storage: { volumeRef: { name: 'data' } } }),
    ]);
    const capacity = { fault: 'status', status: 409, code: 'capacity_unavailable' };
    await plane.faults([{ method: 'POST', path: '/api/volumes$', ...capacity }]);
    const environment = { COLUMNS: String(columns), LINES: '24' };
    const program = launch(['apply', ...flags, '--yes', '--timeout', '40s'], environment);
    expect(await program.finished()).toMatchObject({ code: 1 });
    const tables = program.terminal?.screens.map(tableIn) ?? [];
    expect(tables).toContainEqual(
      expect.stringMatching(/^→ ContainerService default\/api .*creating \(Create\)$/m),
    );
    await expect(`${tables.at(-1)}\n`).toMatchFileSnapshot(`../fixtures/progress-${columns}.txt`);
  },
);

test.skipIf(!isSimulated || isInCluster).each([{ NO_COLOR: '1' }, { TERM: 'dumb' }])(
  'on a terminal with %j nothing is redrawn',
  async (wish) => {
    const { plane, fleet } = await world();
    await fleet.write('fleet.yaml', [...account(plane.url), service('web')]);
    const environment = { COLUMNS: '80', LINES: '24', ...wish };
    const program = launch(['apply', ...folderOf(fleet).flags, '--yes'], environment);
    const { code, stderr } = await program.finished();
    expect(code).toBe(0);
    expect(stderr).not.toContain('\u001b');
    expect(stderr).toContain('ContainerService default/web: create-service: Create\n');
  },
);

test.skipIf(!isSimulated || isInCluster)(
  'Ctrl-C leaves the last state of the table on the terminal',
  async () => {
    const { plane, fleet } = await world();
    await fleet.write('fleet.yaml', [...account(plane.url), service('web'), service('api')]);
    await plane.faults([
      { method: 'POST', path: '/api/services$', fault: 'status', status: 503, code: 'busy' },
    ]);
    const environment = { COLUMNS: '100', LINES: '24' };
    const program = launch(['apply', ...folderOf(fleet).flags, '--yes'], environment);
    await eventually('a wait', async () => program.terminal?.screen.includes('2 waiting'));
    expect((await program.kill('SIGINT')).code).toBe(1);
    expect(program.terminal?.screen).toMatch(/^1 ready, 2 waiting {2}\(\d:\d\d\)\n.*default\/api.*\n/m);
    expect(program.terminal?.screen).toMatch(/\nstopped; the next apply continues with the rest$/);
  },
);
