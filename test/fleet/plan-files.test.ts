/** Plan files: what was reviewed is what is applied. Each row of the table in src/plan-file/compare.ts, on the reference control plane. */
import { readFile, stat, writeFile } from 'node:fs/promises';
import { describe, expect } from 'vitest';
import {
  account,
  service,
  task,
  testInFolder,
  testInTime,
  volume,
  type Json,
} from '../support/processes/fleet.ts';
import { PlanFileWorld, stepsIn } from '../support/processes/plan-files.ts';
import { fetch, fleetkeeper } from '../support/processes/processes.ts';

const image = 'ghcr.io/acme/app:2';

describe('a fresh plan file', () => {
  testInFolder('is applied without a difference, and once', async () => {
    const world = await PlanFileWorld.open();
    await world.fleet.write('all.yaml', [
      volume('data'),
      service('web', { storage: { volumeRef: { name: 'data' } }, desiredState: 'Stopped' }),
      service('api', { env: [{ name: 'MODE', value: 'x1' }] }),
      task('epoch', { serviceRef: { name: 'api' } }),
    ]);
    const { code, stdout, plan } = await world.plan();
    expect([code, stdout]).toEqual([2, expect.stringContaining(`plan ${plan.digest}`)]);
    expect((await stat(world.file)).mode & 0o777).toBe(0o600);
    expect(stepsIn(plan)).toEqual({
      'ContainerService/api': ['create-service'],
      'ContainerService/web': ['create-service', 'then stop-service'],
      'ProtectedTask/epoch': ['protect'],
      'StorageVolume/data': ['create-volume'],
    });
    const first = await world.apply('--plan-digest', plan.digest);
    expect([first.code, first.sent.filter((sent) => !sent.endsWith('/activity')).length]).toEqual([0, 4]);
    expect(first.stdout).not.toMatch(/left|changed since|outside/);
    expect((await world.plane.service('web')).state).toBe('paused');
    const again = await world.apply();
    expect([again.code, again.sent, again.stderr]).toEqual([
      3,
      [],
      expect.stringContaining('it was applied at'),
    ]);
  });

  testInFolder('is refused when its steps cost more than they did', async () => {
    const world = await PlanFileWorld.open();
    const priced = (gpuHourMicros: number) => ({
      prices: [{ region: 'standard', gpuHourMicros, cpuHourMicros: 0, memoryGbHourMicros: 0 }],
    });
    const { url } = world.plane;
    await world.fleet.write('account.yaml', account(url, priced(900_000)));
    await world.fleet.write('all.yaml', [
      service('web', { resources: { gpuCount: 1, cpu: 1, memoryGb: 1 } }),
      service('api', { resources: { gpuCount: 2, cpu: 1, memoryGb: 1 } }),
    ]);
    const { plan } = await world.plan();
    expect(plan.objects.map(({ cost }: Json) => cost.deltaMicros)).toEqual([1_800_000, 900_000]);
    await world.fleet.write('account.yaml', account(url, priced(9_000_000)));
    const refused = await world.apply();
    expect([refused.code, refused.sent]).toEqual([3, []]);
    expect(refused.stderr).toContain(
      'its steps change the cost by +$27.00/h now, and by +$2.70/h when the plan was made; prices have moved since: ' +
        'ContainerService default/api +$1.80/h → +$18.00/h, ContainerService default/web +$0.90/h → +$9.00/h',
    );
    await world.fleet.write('account.yaml', account(url, priced(905_000)));
    expect((await world.apply()).code).toBe(0);
  });

  testInFolder('is counted by how its application ended, when a manager runs on the same state', async () => {
    const world = await PlanFileWorld.open();
    await world.fleet.write('all.yaml', [service('web')]);
    await world.plan();
    expect((await world.apply()).code).toBe(0);
    const manager = world.fleet.run('--listen', '127.0.0.1:0');
    const [, url = ''] = await manager.line(/^listening on (.*)$/);
    const text = await (await fetch(`${url}/metrics`)).text();
    const lines = text.split('\n').filter((line) => line.startsWith('fleetkeeper_plan_files_total{'));
    expect(lines.toSorted()).toEqual(
      ['completed', 'continued', 'refused', 'timeout'].map(
        (outcome) => `fleetkeeper_plan_files_total{outcome="${outcome}"} ${outcome === 'completed' ? 1 : 0}`,
      ),
    );
  });

  testInFolder('of a fleet in which nothing is to be done is applied, and does nothing', async () => {
    const world = await (await PlanFileWorld.open()).with(service('web'));
    const { code, plan } = await world.plan();
    expect([code, plan.objects]).toEqual([0, []]);
    const applied = await world.apply();
    expect([applied.code, applied.sent]).toEqual([0, []]);
  });

  testInFolder('has each step of a service that changes its size with its volume', async () => {
    const grown = (sizeGb: number) => [
      volume('data', { sizeGb, expansion: 'PauseService' }),
      service('web', { storage: { volumeRef: { name: 'data' } } }),
    ];
    const world = await (await PlanFileWorld.open()).with(...grown(10));
    await world.fleet.write('all.yaml', grown(20));
    const { plan } = await world.plan();
    expect(stepsIn(plan)).toEqual({
      'ContainerService/web': ['stop-service', 'then start-service'],
      'StorageVolume/data': ['update-volume'],
    });
    const { code, sent } = await world.apply();
    expect([code, sent.length]).toEqual([0, 3]);
    expect(await world.plane.service('web')).toMatchObject({ state: 'running' });
  });

  testInFolder('has the creation that follows a deletion, and the end of an object', async () => {
    const world = await (
      await PlanFileWorld.open()
    ).with(
      service('web', { replacement: 'Recreate' }),
      service('old'),
      service('left', { deletionPolicy: 'Retain' }),
    );
    await world.fleet.write('all.yaml', [service('web', { replacement: 'Recreate', serviceName: 'web-2' })]);
    const { plan } = await world.plan();
    expect(stepsIn(plan)).toEqual({
      'ContainerService/left': ['leave'],
      'ContainerService/old': ['delete-service'],
      'ContainerService/web': ['delete-service', 'then create-service'],
    });
    const { code, sent } = await world.apply();
    expect([code, sent.length]).toEqual([0, 3]);
    expect(await world.plane.service('web-2')).toMatchObject({ state: 'running' });
    expect([...(await world.fleet.records()).keys()].sort()).toEqual([
      'Account/default',
      'ContainerService/web',
    ]);
  });
});

describe('between the plan and its application', () => {
  testInFolder('somebody else does a part of it: the rest is done, and that is reported', async () => {
    const world = await (await PlanFileWorld.open()).with(service('web'), service('api'));
    await world.fleet.write('all.yaml', [
      service('web', { image, resources: { cpu: 2, memoryGb: 2 } }),
      service('api', { image }),
    ]);
    const { plan } = await world.plan();
    expect(stepsIn(plan)['ContainerService/web']).toEqual(['patch-service', 'resize-service']);
    const { id } = await world.plane.service('web');
    const resources = { gpuCount: 0, cpu: 2, memoryGb: 2 };
    await world.plane.call('POST', `/api/services/${id}/actions`, { action: 'resize', resources });
    await world.pause(5000);
    const { code, stdout, sent } = await world.apply();
    expect([code, stdout]).toEqual([
      0,
      expect.stringContaining('ContainerService default/web: 1 of 2 steps are left'),
    ]);
    expect(sent.filter((one) => one.includes(id))).toEqual([`PATCH /api/services/${id}`]);
  });

  testInFolder('somebody else changes one object: nothing at all is sent', async () => {
    const world = await (await PlanFileWorld.open()).with(service('web'), service('api'));
    await world.fleet.write('all.yaml', [
      service('web', { image }),
      service('api', { image }),
      service('new'),
    ]);
    await world.plan();
    const { id, revision } = await world.plane.service('web');
    await world.plane.call('PATCH', `/api/services/${id}`, { revision, patch: { httpPort: 9999 } });
    await world.plane.call('POST', `/api/services/${id}/actions`, { action: 'stop' });
    const { code, stderr, sent } = await world.apply();
    expect([code, sent]).toEqual([3, []]);
    expect(stderr).toContain('nothing was applied');
    expect(stderr).toMatch(
      /ContainerService default\/web: it needs other steps now: patch-service.*start-service.*, and the plan has patch-service \(image\).*moved since: revision \d+ to/,
    );
    // It was not even begun.
    const { stdout } = await fleetkeeper(['status', ...world.fleet.flags, '-o', 'json']);
    expect(JSON.parse(stdout).planFile).toBeUndefined();
  });

  testInFolder('a revision moves without an effect on the steps: it continues', async () => {
    const world = await (await PlanFileWorld.open()).with(service('web', { httpPort: 80 }));
    await world.fleet.write('all.yaml', [service('web', { image, httpPort: 80 })]);
    const { plan } = await world.plan();
    const { id, revision } = await world.plane.service('web');
    await world.plane.call('PATCH', `/api/services/${id}`, { revision, patch: { httpPort: 80 } });
    expect((await world.plane.service('web')).revision).toBeGreaterThan(plan.objects[0].before.revision);
    expect(await world.apply()).toMatchObject({ code: 0, sent: [`PATCH /api/services/${id}`] });
  });

  testInFolder('an object outside the file needs something: it stays, and --strict refuses', async () => {
    const world = await (await PlanFileWorld.open()).with(service('web'), service('api'));
    await world.fleet.write('all.yaml', [service('web', { image }), service('api')]);
    await world.plan();
    await world.fleet.write('all.yaml', [
      service('web', { image }),
      service('api', { image }),
      service('new'),
    ]);
    const strict = await world.apply('--strict');
    expect([strict.code, strict.sent]).toEqual([3, []]);
    expect(strict.stderr).toMatch(
      /ContainerService default\/api: it needs something, and is not in the plan file/,
    );
    const { id } = await world.plane.service('web');
    const { code, stdout, sent } = await world.apply();
    expect([code, sent]).toEqual([0, [`PATCH /api/services/${id}`]]);
    expect(stdout).toContain('2 object(s) outside the plan file need something, and stay as they are');
    expect((await world.plane.service('api')).image).toBe('ghcr.io/acme/app:1');
  });

  testInFolder(
    'a document is written in another way, and means the same: it continues, and reports it',
    async () => {
      const world = await (await PlanFileWorld.open()).with(service('web'));
      await world.fleet.write('all.yaml', [service('web', { image })]);
      await world.plan();
      await world.fleet.write('all.yaml', [service('web', { image, deletionPolicy: 'Retain' })]);
      const { code, stdout, sent } = await world.apply();
      expect([code, sent.length]).toEqual([0, 1]);
      expect(stdout).toContain(
        'documents that have changed since, without another step: ContainerService default/web',
      );
    },
  );

  testInFolder(
    'a document has another value of a variable: it is refused, and the file does not show the value',
    async () => {
      const mode = (value: string) => service('web', { env: [{ name: 'MODE', value }] });
      const world = await (await PlanFileWorld.open()).with(mode('one'));
      await world.fleet.write('all.yaml', [mode('hunter2')]);
      await world.plan();
      const text = await readFile(world.file, 'utf8');
      expect(text).toMatch(/"path":"env.MODE","value":"hmac-sha256:/);
      expect(text).not.toContain('hunter2');
      await world.fleet.write('all.yaml', [mode('hunter3')]);
      expect(await world.apply()).toMatchObject({ code: 3, sent: [] });
      await world.fleet.write('all.yaml', [mode('hunter2')]);
      expect(await world.apply()).toMatchObject({ code: 0 });
    },
  );

  testInFolder('a document is gone, or its object at the provider: it is refused', async () => {
    const world = await (await PlanFileWorld.open()).with(service('web'), service('api'));
    await world.fleet.write('all.yaml', [service('web', { image }), service('api', { image })]);
    await world.plan();
    await world.fleet.write('all.yaml', [service('api', { image })]);
    const gone = await world.apply();
    expect([gone.code, gone.sent]).toEqual([3, []]);
    expect(gone.stderr).toContain('default/web: it needs other steps now: delete-service');
    await world.fleet.write('all.yaml', [service('web', { image }), service('api', { image })]);
    const { id } = await world.plane.service('web');
    await world.plane.call('POST', `/api/services/${id}/actions`, { action: 'delete' });
    const vanished = await world.apply();
    expect([vanished.code, vanished.sent]).toEqual([3, []]);
  });

  testInFolder(
    'a Secret is missing: its object is held, nothing of it is sent, and the others are done',
    async () => {
      const secret = {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'keys' },
        stringData: { token: 't1' },
      };
      const env = [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'keys', key: 'token' } } }];
      const world = await (await PlanFileWorld.open()).with(secret, service('web', { env }), service('api'));
      await world.fleet.write('all.yaml', [
        secret,
        service('web', { env, image }),
        service('api', { image }),
      ]);
      await world.plan();
      await world.fleet.write('all.yaml', [service('web', { env, image }), service('api', { image })]);
      const { id } = await world.plane.service('api');
      const { code, stderr, sent } = await world.apply();
      expect([code, sent]).toEqual([1, [`PATCH /api/services/${id}`]]);
      expect(stderr).toContain('1 of 2 steps are left (ContainerService default/web)');
      await world.fleet.write('all.yaml', [
        secret,
        service('web', { env, image }),
        service('api', { image }),
      ]);
      expect(await world.apply()).toMatchObject({ code: 0, sent: [expect.stringMatching(/^PATCH/)] });
    },
  );
});

describe('the file itself', () => {
  async function planned(): Promise<PlanFileWorld> {
    const world = await PlanFileWorld.open();
    await world.fleet.write('all.yaml', [service('web')]);
    await world.plan('--expires', '15m');
    return world;
  }

  testInFolder(
    'may be applied for 15 minutes to a week, and for a day if nothing else is asked for',
    async () => {
      const world = await PlanFileWorld.open();
      await world.fleet.write('all.yaml', [service('web')]);
      const lastsMs = async (...flags: string[]) => {
        const { plan } = await world.plan(...flags);
        return Date.parse(plan.expiresAt) - Date.parse(plan.createdAt);
      };
      const hourMs = 3_600_000;
      expect(await lastsMs()).toBe(24 * hourMs);
      expect(await lastsMs('--expires', '15m')).toBe(hourMs / 4);
      expect(await lastsMs('--expires', '168h')).toBe(168 * hourMs);
      for (const wrong of ['14m', '169h']) {
        const flags = [...world.fleet.flags, '--out', world.file, '--expires', wrong];
        const { code, stderr } = await fleetkeeper(['plan', ...flags]);
        expect([code, stderr]).toEqual([1, expect.stringContaining('expected 15m to 168h')]);
      }
      const { code, stderr } = await fleetkeeper(['plan', ...world.fleet.flags, '--expires', '1h']);
      expect([code, stderr]).toEqual([1, expect.stringContaining('add --out FILE')]);
    },
  );

  testInFolder('was edited: it is refused', async () => {
    const world = await planned();
    const text = await readFile(world.file, 'utf8');
    await writeFile(world.file, text.replaceAll('create-service', 'delete-service'));
    const { code, sent, stderr } = await world.apply();
    expect([code, sent, stderr]).toEqual([
      3,
      [],
      expect.stringContaining('it was changed after it was made'),
    ]);
  });

  testInFolder('is empty, cut short or something else: it is refused, and why is stated', async () => {
    const world = await planned();
    const whole = await readFile(world.file, 'utf8');
    for (const [text, why] of [
      ['', 'it is empty (0 bytes)'],
      ['hello', 'it is no JSON (5 bytes)'],
      [whole.slice(0, 300), 'it is no JSON (300 bytes)'],
      ['[]', 'it is no PlanFile (2 bytes)'],
    ] as const) {
      await writeFile(world.file, text);
      const { code, sent, stderr } = await world.apply();
      expect([code, sent, stderr]).toEqual([3, [], expect.stringContaining(why)]);
      expect(stderr).toContain(`the plan file ${world.file} is refused, and nothing was applied`);
      expect(stderr).toContain('make a new plan with `fleetkeeper plan --out`');
    }
  });

  testInFolder('costs more than --max-cost-increase allows: it is not written', async () => {
    const world = await PlanFileWorld.open();
    await world.fleet.write('all.yaml', [service('web')]);
    const limited = (usd: string) =>
      fleetkeeper(['plan', ...world.fleet.flags, '--out', world.file, '--max-cost-increase', usd]);
    const { code, stderr, stdout } = await limited('0.01');
    expect([code, stderr]).toEqual([4, expect.stringContaining(`${world.file} was not written`)]);
    expect(stdout).not.toContain('plan sha256:');
    await expect(stat(world.file)).rejects.toThrow('ENOENT');
    expect((await limited('1')).code).toBe(2);
    expect((await stat(world.file)).size).toBeGreaterThan(0);
  });

  testInFolder('was only laid out anew: it is the same', async () => {
    const world = await planned();
    const text = await readFile(world.file, 'utf8');
    await writeFile(world.file, JSON.stringify(JSON.parse(text), null, 2));
    expect(await world.apply()).toMatchObject({ code: 0 });
  });

  testInFolder('has another digest than the one that was reviewed: it is refused', async () => {
    const world = await planned();
    const { code, sent, stderr } = await world.apply('--plan-digest', `sha256:${'0'.repeat(64)}`);
    expect([code, sent, stderr]).toEqual([3, [], expect.stringContaining('--plan-digest')]);
  });

  testInFolder('has a format that this version does not know: it is refused', async () => {
    const world = await planned();
    const plan = JSON.parse(await readFile(world.file, 'utf8'));
    await writeFile(world.file, JSON.stringify({ ...plan, formatVersion: 2 }));
    const { code, sent, stderr } = await world.apply();
    expect([code, sent, stderr]).toEqual([3, [], expect.stringContaining('it has the format version 2')]);
  });

  testInTime('has expired: it is refused', async () => {
    const world = await planned();
    await world.pause(15 * 60_000);
    const { code, sent, stderr } = await world.apply();
    expect([code, sent, stderr]).toEqual([3, [], expect.stringContaining('it has expired at')]);
  });

  testInFolder(
    'is of a cluster, among the documents, or missing, or other objects are chosen: that is refused',
    async () => {
      const world = await planned();
      const cluster = await fleetkeeper(['plan', '--source', 'kubernetes', '--out', world.file]);
      expect([cluster.code, cluster.stderr]).toEqual([
        1,
        expect.stringContaining('a plan file is of a folder'),
      ]);
      const inside = `${world.fleet.folder}/plan.json`;
      const among = await fleetkeeper(['plan', ...world.fleet.flags, '--out', inside]);
      expect([among.code, among.stderr]).toEqual([1, expect.stringContaining('would be read as a document')]);
      const missing = await fleetkeeper(['apply', `${world.file}.old`, ...world.fleet.flags]);
      expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining('there is no ')]);
      const chosen = await world.apply('--target', 'web');
      expect([chosen.code, chosen.sent]).toEqual([1, []]);
      const wide = await world.apply('--allow-mass-change');
      expect([wide.code, wide.sent]).toEqual([1, []]);
    },
  );
});
