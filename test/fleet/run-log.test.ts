/** What `run` logs of the objects that it manages. */
import { expect, test } from 'vitest';
import { ControlPlane } from '../support/processes/control-plane.ts';
import {
  createFleet,
  account,
  folderOf,
  isInCluster,
  service,
  type Fleet,
} from '../support/processes/fleet.ts';
import { eventually, launch, sleep, temporaryFolder, type Program } from '../support/processes/processes.ts';
import { isSimulated } from '../support/world.ts';

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  return { plane, fleet: await createFleet(folder) };
}

const missing = { env: [{ name: 'KEY', valueFrom: { secretKeyRef: { name: 'keys', key: 'api' } } }] };

/** The lines about `Ready` of one service. */
function transitions(program: Program, fleet: Fleet, name: string): Record<string, string>[] {
  return program.stderr
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, string>)
    .filter(({ object, ready }) => object === `ContainerService/${fleet.namespace}/${name}` && ready);
}

function short({ level, msg, ready, reason }: Record<string, string>): string {
  return `${level} ${msg} ${ready} ${reason}`;
}

test('each transition of Ready is one line with object, reason and message, and nothing is repeated', async () => {
  const { plane, fleet } = await world();
  await fleet.write('fleet.yaml', [...account(plane.url), service('web', { driftPolicy: 'Report' })]);
  const manager = fleet.run();
  await fleet.untilReady(1);
  await eventually('both lines', async () => transitions(manager, fleet, 'web').length > 1);
  expect(transitions(manager, fleet, 'web').map(short)).toEqual([
    'info not ready False Create',
    'info ready True Running',
  ]);
  const { id, revision } = await plane.service('web');
  const patch = { image: 'registry.invalid/acme/app:1' };
  await plane.call('PATCH', `/api/services/${id}`, { revision, patch });
  await fleet.until('ContainerService/web', 'Ready', 'False', 'ServiceError');
  await eventually(
    'a line',
    async () => transitions(manager, fleet, 'web').at(-1)?.['reason'] === 'ServiceError',
  );
  await sleep(3000);
  const lines = transitions(manager, fleet, 'web').slice(2);
  // Whether it was seen on its way depends on when it was read.
  expect(lines.map(short).filter((line) => line !== 'warn not ready False Provisioning')).toEqual([
    'warn held False ServiceError',
  ]);
  expect(lines.at(-1)).toMatchObject({ message: expect.stringContaining("can't pull the image") });
});

test('an object that is held from the start is one line of each process, whatever happens to others', async () => {
  const { plane, fleet } = await world();
  await fleet.write('fleet.yaml', [...account(plane.url), service('web', missing)]);
  const held = ['warn held False InvalidReference'];
  const first = fleet.run();
  await fleet.until('ContainerService/web', 'Stalled', 'True', 'InvalidReference');
  await fleet.write('other.yaml', [service('other')]);
  await fleet.until('ContainerService/other', 'Ready', 'True');
  expect(transitions(first, fleet, 'web').map(short)).toEqual(held);
  await first.kill('SIGTERM');
  const second = fleet.run();
  await eventually('a line', async () => transitions(second, fleet, 'web').length > 0);
  await sleep(3000);
  expect(transitions(second, fleet, 'web').map(short)).toEqual(held);
  // It was Ready before, and is so now.
  expect(transitions(second, fleet, 'other')).toEqual([]);
});

const onTerminal = { COLUMNS: '120', LINES: '24' };
const isWithoutTerminal = !isSimulated || isInCluster;

test.skipIf(isWithoutTerminal)(
  'on a terminal, the log is for people, and its last line counts the objects',
  async () => {
    const { plane, fleet } = await world();
    const { flags } = folderOf(fleet);
    await fleet.write('fleet.yaml', [...account(plane.url), service('web'), service('worker', missing)]);
    const manager = launch(['run', ...flags, '--listen', '127.0.0.1:0'], onTerminal);
    await manager.line(/^listening on http:/);
    await fleet.until('ContainerService/web', 'Ready', 'True');
    await sleep(1000);
    const screen = () => manager.terminal?.screen ?? '';
    expect(screen()).toMatch(/^listening on http:/);
    expect(screen()).toMatch(/^\d\d:\d\d:\d\d info {2}ContainerService default\/web {2}ready {2}Running$/m);
    expect(screen()).toMatch(
      /^\d\d:\d\d:\d\d warn {2}ContainerService default\/worker {2}held {2}InvalidReference: /m,
    );
    expect(screen()).toMatch(/\n2 ready, 1 held$/);
    expect((await manager.kill('SIGTERM')).code).toBe(0);
    expect(screen()).toMatch(/\n2 ready, 1 held\n\d\d:\d\d:\d\d info {2}manager stopped$/);
  },
);

test.skipIf(isWithoutTerminal)(
  '`--log-format json` has JSON lines on a terminal, too, and nothing is redrawn',
  async () => {
    const { plane, fleet } = await world();
    await fleet.write('fleet.yaml', [...account(plane.url), service('web')]);
    const manager = launch(['run', ...folderOf(fleet).flags, '--log-format', 'json'], onTerminal);
    await fleet.until('ContainerService/web', 'Ready', 'True');
    await manager.kill('SIGTERM');
    const lines = manager.stderr.trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toContain('manager stopped');
  },
);

test('`--log-format text` is for people off a terminal, too', async () => {
  const { plane, fleet } = await world();
  await fleet.write('fleet.yaml', [...account(plane.url), service('web', missing)]);
  const manager = fleet.run('--log-format', 'text');
  await eventually('a line', async () =>
    /^\d\d:\d\d:\d\d warn {2}ContainerService [^ ]+\/web {2}held {2}InvalidReference: /m.test(manager.stderr),
  );
});
