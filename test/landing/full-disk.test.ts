/**
 * A disk without room, made by the limit of the file size: beyond it, the operating system refuses to write, and the
 * limit can be lifted again while the server runs.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { apiKey, ControlPlaneProcess } from '../support/processes/control-plane.ts';
import { eventually, temporaryFolder } from '../support/processes/processes.ts';

const canLimit = spawnSync('prlimit', ['--version']).status === 0;

function limitFileSize(plane: ControlPlaneProcess, bytes: number | 'unlimited'): void {
  execFileSync('prlimit', ['--pid', String(plane.pid), `--fsize=${bytes}:unlimited`]);
}

interface Created {
  readonly status: number;
  readonly isReplay: boolean;
  readonly id: string | undefined;
  readonly code: string | undefined;
}

async function create(plane: ControlPlaneProcess, key: string): Promise<Created> {
  const response = await fetch(`${plane.url}/api/services`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      'idempotency-key': key,
    },
    body: JSON.stringify({
      name: 'trainer',
      region: 'standard',
      image: 'ghcr.io/acme/trainer:1.4',
      resources: { gpuCount: 0, cpu: 1, memoryGb: 1 },
      environment: { PADDING: 'x'.repeat(2000) },
    }),
  });
  const { id, error } = (await response.json()) as { id?: string; error?: { code: string } };
  return {
    status: response.status,
    isReplay: response.headers.has('idempotency-replayed'),
    id,
    code: error?.code,
  };
}

/** `id state`, sorted. */
async function services(plane: ControlPlaneProcess): Promise<string[]> {
  const { services: list } = (await plane.account()) as { services: { id: string; state: string }[] };
  return list.map(({ id, state }) => `${id} ${state}`).sort();
}

test.skipIf(!canLimit)(
  'on a full disk changes are answered 503 and have no effect, and all is well once there is room',
  async () => {
    const plane = await new ControlPlaneProcess(await temporaryFolder()).start();
    const created: (string | undefined)[] = [];
    const running = () => created.map((id) => `${id} running`).sort();
    created.push((await create(plane, randomUUID())).id);
    await eventually('it runs', async () => (await services(plane))[0] === running()[0]);
    const quiet = await services(plane);

    limitFileSize(plane, statSync(`${plane.database}-wal`).size);
    const keys = Array.from({ length: 8 }, () => randomUUID());
    const refused = await Promise.all(keys.map((key) => create(plane, key)));
    expect(refused.map(({ status, code }) => `${status} ${code}`)).toEqual(keys.map(() => '503 unavailable'));
    expect(await services(plane)).toEqual(quiet);

    limitFileSize(plane, 'unlimited');
    for (const key of keys) {
      const { status, isReplay, id } = await create(plane, key);
      expect({ status, isReplay }).toEqual({ status: 201, isReplay: false });
      created.push(id);
    }
    await eventually('all run', async () => (await services(plane)).join() === running().join());
    await plane.kill();
    await plane.start();
    expect(await services(plane)).toEqual(running());
  },
);
