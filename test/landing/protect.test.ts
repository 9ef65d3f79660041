/** `fleetkeeper protect`: exit codes, signals, and what becomes of the activity. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { ControlPlane, apiKey } from '../support/processes/control-plane.ts';
import { launch, type Program, eventually, temporaryFolder } from '../support/processes/processes.ts';

/** A service, and `protect` around commands that run until a file is there. */
class World {
  readonly plane: ControlPlane;
  readonly folder: string;
  readonly id: string;

  constructor(plane: ControlPlane, folder: string, id: string) {
    this.plane = plane;
    this.folder = folder;
    this.id = id;
  }

  protect(command: string, ...flags: string[]): Program {
    return launch(['protect', '--id', this.id, ...flags, '--', 'sh', '-c', command], {
      FLEETKEEPER_API_URL: this.plane.url,
      FLEETKEEPER_API_KEY: apiKey,
      FOLDER: this.folder,
    });
  }

  /** Resolves when the command has written the file. */
  started(): Promise<boolean> {
    return eventually('the command', async () => existsSync(path.join(this.folder, 'started')));
  }

  async finish(): Promise<void> {
    await writeFile(path.join(this.folder, 'finish'), '');
  }

  async activities(): Promise<{ id: string; name: string; lastHeartbeatAt: number }[]> {
    return (await this.plane.call('GET', `/api/services/${this.id}/activity`)).activities;
  }
}

/** Runs until it is told to finish, and ends with 7. */
const work = 'touch "$FOLDER/started"; while [ ! -e "$FOLDER/finish" ]; do sleep 0.05; done; exit 7';

async function world(): Promise<World> {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const body = {
    name: 'web',
    region: 'standard',
    image: 'app:1',
    resources: { gpuCount: 0, cpu: 1, memoryGb: 1 },
  };
  const { id } = await plane.call('POST', '/api/services', body);
  return new World(plane, folder, id);
}

test.each([
  ['succeeds', 'exit 0', 0],
  ['fails', 'exit 3', 3],
  ['kills itself', 'kill -9 $$', 137],
])('a command that %s: its exit code, and the activity is released', async (_, command, code) => {
  const around = await world();
  const { code: given } = await around.protect(command).finished();
  expect(given).toBe(code);
  expect(await around.activities()).toEqual([]);
});

test('a command that can not be run: 127, and the activity is released', async () => {
  const around = await world();
  const program = launch(['protect', '--id', around.id, '--', '/no/such/command'], {
    FLEETKEEPER_API_URL: around.plane.url,
    FLEETKEEPER_API_KEY: apiKey,
  });
  expect((await program.finished()).code).toBe(127);
  expect(await around.activities()).toEqual([]);
});

test('the service is protected before the command starts, and as long as it runs', async () => {
  const around = await world();
  const program = around.protect(work, '--name', 'epoch 7');
  await around.started();
  expect(await around.activities()).toMatchObject([{ name: 'epoch 7' }]);
  await around.finish();
  expect((await program.finished()).code).toBe(7);
  expect(await around.activities()).toEqual([]);
});

test.each(['TERM', 'HUP', 'USR1'] as const)(
  '%s is passed on to the command, whose end is waited for',
  async (signal) => {
    const around = await world();
    const program = around.protect(`trap 'exit 9' ${signal}; ${work}`);
    await around.started();
    expect((await program.kill(`SIG${signal}`)).code).toBe(9);
    expect(program.stderr).not.toContain('Debugger');
    expect(await around.activities()).toEqual([]);
  },
);

test('killed with -9 it leaves an activity, which the next one with its id takes up and releases', async () => {
  const around = await world();
  const taskId = randomUUID();
  const program = around.protect(work, '--task-id', taskId);
  await around.started();
  await program.kill('SIGKILL');
  expect(await around.activities()).toMatchObject([{ id: taskId }]);
  await around.finish();
  expect((await around.protect('exit 0', '--task-id', taskId).finished()).code).toBe(0);
  expect(await around.activities()).toEqual([]);
  const again = await around.protect('exit 0', '--task-id', taskId).finished();
  expect(again).toMatchObject({ code: 125, stderr: expect.stringContaining('was released') });
});

test('an API that is down at the start: the command runs, and is protected once the API is there', async () => {
  const around = await world();
  await around.plane.stop();
  const program = around.protect(work, '--patience', '200ms');
  await around.started();
  await around.plane.start();
  await eventually('the activity', async () => (await around.activities()).length === 1);
  await around.finish();
  expect((await program.finished()).code).toBe(7);
  expect(await around.activities()).toEqual([]);
});

test('with --require, an API that is down keeps the command from starting', async () => {
  const around = await world();
  await around.plane.stop();
  const { code, stderr } = await around
    .protect('touch "$FOLDER/started"', '--require', '--patience', '200ms')
    .finished();
  expect(code).toBe(125);
  expect(stderr).toContain('the command was not started');
  expect(stderr).not.toContain('could not be released');
  expect(existsSync(path.join(around.folder, 'started'))).toBe(false);
});

test('an API that is never there: nothing is left to be released, and nothing is waited for', async () => {
  const around = await world();
  await around.plane.stop();
  const { code, stderr } = await around.protect('exit 3', '--patience', '200ms').finished();
  expect(code).toBe(3);
  expect(stderr).not.toContain('could not be released');
});

test('an API that is down in the middle: the release is sent when it is back', async () => {
  const around = await world();
  const program = around.protect(work);
  await around.started();
  await around.plane.stop();
  await around.finish();
  await around.plane.start();
  expect((await program.finished()).code).toBe(7);
  expect(await around.activities()).toEqual([]);
});

test('an API that stays down at the end: the exit code is the command’s, and the id is told', async () => {
  const around = await world();
  const program = around.protect(work);
  await around.started();
  await around.plane.stop();
  await around.finish();
  const { code, stderr } = await program.finished();
  expect(code).toBe(7);
  expect(stderr).toMatch(/could not be released.*--task-id [0-9a-f-]{36}/);
  await around.plane.start();
  expect(await around.activities()).toHaveLength(1);
});

test('a service that does not exist, or a wrong key, ends it before the command starts', async () => {
  const around = await world();
  const flags = ['protect', '--id', randomUUID(), '--', 'touch', path.join(around.folder, 'started')];
  const environment = { FLEETKEEPER_API_URL: around.plane.url, FLEETKEEPER_API_KEY: apiKey };
  const noService = await launch(flags, environment).finished();
  expect(noService).toMatchObject({ code: 125, stderr: expect.stringContaining('404') });
  const wrongKey = await launch(flags, { ...environment, FLEETKEEPER_API_KEY: 'wrong' }).finished();
  expect(wrongKey).toMatchObject({ code: 125, stderr: expect.stringContaining('401') });
  expect(existsSync(path.join(around.folder, 'started'))).toBe(false);
});
