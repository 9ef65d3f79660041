/** A plan file is applied to what it was compared with. Each run has a fresh machine, as in CI: nothing remembers that a file was applied. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect } from 'vitest';
import { service, testInFolder, type Json } from '../support/processes/fleet.ts';
import { PlanFileWorld } from '../support/processes/plan-files.ts';
import { eventually, fleetkeeper, type Finished } from '../support/processes/processes.ts';
import { fleetOf, template } from '../support/processes/replicas.ts';

const image = (tag: number) => `ghcr.io/acme/app:${tag}`;
const quick = ['--settle', '1s', '--stable', '500ms'];

/** Each command runs on a machine of its own. */
class Machines {
  readonly world: PlanFileWorld;
  readonly key: string;
  /** The same machine, and its state, are used once more. */
  isKept = false;
  #count = 0;

  private constructor(world: PlanFileWorld, key: string) {
    this.world = world;
    this.key = key;
  }

  static async open(): Promise<Machines> {
    const world = await PlanFileWorld.open();
    const key = path.join(path.dirname(world.file), 'digest.key');
    await writeFile(key, 'k'.repeat(40));
    return new Machines(world, key);
  }

  get #fresh(): string[] {
    if (!this.isKept) this.#count += 1;
    const { fleet, file } = this.world;
    return [
      '--source',
      fleet.folder,
      '--owner',
      'ci',
      '--digest-key-file',
      this.key,
      '--state',
      `${file}.${this.#count}.db`,
    ];
  }

  /** The documents as a commit has them. */
  async commit(...documents: readonly object[]): Promise<void> {
    await this.world.fleet.write('all.yaml', documents);
  }

  async deploy(...documents: readonly object[]): Promise<void> {
    await this.commit(...documents);
    const { code, stderr } = await fleetkeeper(['apply', ...this.#fresh, '--yes', ...quick]);
    if (code !== 0) throw new Error(`not deployed: ${stderr}`);
  }

  async plan(...documents: readonly object[]): Promise<void> {
    await this.commit(...documents);
    const { code, stderr } = await fleetkeeper(['plan', ...this.#fresh, '--out', this.world.file]);
    if (code !== 2) throw new Error(`not planned: ${stderr}`);
  }

  /** Somebody else changes the service, and it runs again. */
  async change(name: string, patch: object): Promise<string> {
    const { plane } = this.world;
    const { id, revision } = await plane.service(name);
    await plane.call('PATCH', `/api/services/${id}`, { revision, patch });
    await eventually(`${name} runs`, async () => (await plane.service(name)).state === 'running');
    return id;
  }

  /** `flags`: they may name another state. */
  async apply(...flags: string[]): Promise<Finished & { readonly sent: string[] }> {
    await this.world.plane.forgetRequests();
    const applied = await fleetkeeper(['apply', this.world.file, ...this.#fresh, ...quick, ...flags]);
    return { ...applied, sent: await this.world.sent() };
  }
}

describe('a plan file that was applied, and what it made was changed by a later one', () => {
  testInFolder('is refused, with the value of then and the value of now', async () => {
    const machines = await Machines.open();
    await machines.deploy(service('web', { image: image(1) }));
    await machines.plan(service('web', { image: image(2) }));
    expect(await machines.apply()).toMatchObject({ code: 0, sent: [expect.stringMatching(/^PATCH/)] });
    await machines.deploy(service('web', { image: image(3) }));
    await machines.commit(service('web', { image: image(2) }));
    for (const flags of [[], ['--strict']]) {
      const { code, sent, stderr } = await machines.apply(...flags);
      expect([code, sent]).toEqual([3, []]);
      expect(stderr).toContain(
        `ContainerService default/web: image was "${image(1)}" when the plan was made, and is "${image(3)}" now`,
      );
    }
    expect((await machines.world.plane.service('web')).image).toBe(image(3));
  });

  testInFolder('is refused when only values of variables were changed, which nothing shows', async () => {
    const machines = await Machines.open();
    const valued = (value: string) => service('web', { env: [{ name: 'MODE', value }] });
    await machines.deploy(valued('one'));
    await machines.plan(valued('two'));
    expect((await machines.apply()).code).toBe(0);
    await machines.deploy(valued('three'));
    await machines.commit(valued('two'));
    const { code, sent, stderr } = await machines.apply();
    expect([code, sent]).toEqual([3, []]);
    expect(stderr).toContain(
      'ContainerService default/web: its environment has changed since the plan was made',
    );
  });

  testInFolder('is refused when a fleet has got another content', async () => {
    const machines = await Machines.open();
    const update = { minReadySeconds: 0, failureLimit: 0 };
    const llm = (tag: number) => fleetOf('llm', { update, template: template({ image: image(tag) }) });
    // A fresh machine does not know what the replicas need, so it has no plan of that.
    await machines.deploy(llm(1));
    machines.isKept = true;
    await machines.plan(llm(2));
    expect((await machines.apply()).code).toBe(0);
    machines.isKept = false;
    await machines.deploy(llm(3));
    await machines.commit(llm(2));
    const { code, sent, stderr } = await machines.apply();
    expect([code, sent, stderr]).toEqual([
      3,
      [],
      expect.stringContaining('this state does not remember what they had when the plan was made'),
    ]);
    const { services } = await machines.world.plane.account();
    expect(services.map(({ image: has }: Json) => has)).toEqual(Array(3).fill(image(3)));
  });
});

describe('between the plan and its application', () => {
  testInFolder('another field changes: the file continues', async () => {
    const machines = await Machines.open();
    await machines.deploy(service('web', { image: image(1) }));
    await machines.plan(service('web', { image: image(2) }));
    const id = await machines.change('web', { httpPort: 81 });
    expect(await machines.apply()).toMatchObject({ code: 0, sent: [`PATCH /api/services/${id}`] });
  });

  testInFolder('what drifted drifts further: it is refused', async () => {
    const machines = await Machines.open();
    const web = service('web', { image: image(1) });
    await machines.deploy(web);
    await machines.change('web', { image: image(8) });
    await machines.plan(web);
    await machines.change('web', { image: image(9) });
    const { code, sent, stderr } = await machines.apply();
    expect([code, sent]).toEqual([3, []]);
    expect(stderr).toContain(`image was "${image(8)}" when the plan was made, and is "${image(9)}" now`);
  });

  testInFolder('what is to be replaced changes: it is refused', async () => {
    const machines = await Machines.open();
    const named = (serviceName: string) => service('web', { serviceName, replacement: 'Recreate' });
    await machines.deploy(named('web-1'));
    await machines.plan(named('web-2'));
    await machines.change('web-1', { image: image(3) });
    const { code, sent, stderr } = await machines.apply();
    expect([code, sent]).toEqual([3, []]);
    expect(stderr).toContain('it would be deleted, and has changed since the plan was made');
  });
});

testInFolder('a file that was interrupted continues on another machine where it stopped', async () => {
  const machines = await Machines.open();
  const names = ['a', 'b', 'c'];
  await machines.deploy(...names.map((name) => service(name, { image: image(1) })));
  await machines.plan(
    ...names.map((name) => service(name, { image: image(2), resources: { cpu: 2, memoryGb: 2 } })),
  );
  const { plane } = machines.world;
  const { id } = await plane.service('b');
  await plane.faults([
    { method: 'PATCH', path: `/api/services/${id}`, fault: 'status', status: 503 },
    { method: 'POST', path: '/actions$', fault: 'status', status: 503 },
  ]);
  const first = await machines.apply('--timeout', '20s');
  expect([first.code, first.stderr]).toEqual([5, expect.stringContaining('4 of 6 steps are left')]);
  await plane.faults([]);
  const second = await machines.apply();
  expect([second.code, second.sent.filter((sent) => sent.startsWith('PATCH'))]).toEqual([
    0,
    [`PATCH /api/services/${id}`],
  ]);
  const { services } = await plane.account();
  expect(services.map(({ image: has, resources }: Json) => [has, resources.cpu])).toEqual(
    names.map(() => [image(2), 2]),
  );
});
