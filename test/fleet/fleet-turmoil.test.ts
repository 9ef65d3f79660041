/**
 * A fleet of replicas while everything happens at once: people edit it and take it back, processes die, answers are lost, the state
 * file is lost, and tasks begin and end. Drawn from a seed. What must hold at every moment, at the provider:
 *
 * - no two services are the same replica (FI5), and no more exist than ever were allowed (FI1);
 * - no service goes while an activity in it is unreleased (FI3).
 *
 * In the end there is exactly what the document says, and then nothing is sent any more (FI10).
 */
import { rm } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { apiVersion } from '../../src/resources/index.ts';
import { parseBeacon } from '../../src/engine/plan/index.ts';
import { ControlPlane, isMutation } from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  folderOf,
  isInCluster,
  task,
  type Fleet,
  type Json,
} from '../support/processes/fleet.ts';
import { eventually, sleep, temporaryFolder, type Program } from '../support/processes/processes.ts';
import { seed } from '../support/seed.ts';
import { SeededRandom } from '../support/seeded-random.ts';
import { isSimulated } from '../support/world.ts';

const lossy = [
  { method: 'POST', fault: 'drop-response', every: 3 },
  { method: 'PATCH', fault: 'drop-request', every: 4 },
];
const surge = 1;

class Turmoil {
  readonly #plane: ControlPlane;
  readonly #fleet: Fleet;
  readonly #random: SeededRandom;
  #replicas = 3;
  #image = 1;
  #token = 'one';
  #region = 'standard';
  #mostWanted = 3;
  /** The service that a task protects, by the name of its replica. */
  #protected: { readonly replica: string; readonly id: string } | undefined;
  #run: Program;
  readonly violations: string[] = [];

  constructor(plane: ControlPlane, fleet: Fleet, random: SeededRandom) {
    [this.#plane, this.#fleet, this.#random] = [plane, fleet, random];
    this.#run = fleet.run('--owner', 'fleet');
  }

  async write(): Promise<void> {
    const env = [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'llm', key: 'token' } } }];
    const image = `ghcr.io/acme/llm:${this.#image}`;
    const spec = { region: this.#region, image, resources: { cpu: 1, memoryGb: 1 }, env };
    await this.#fleet.write('llm.yaml', [
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'llm' }, stringData: { token: this.#token } },
      {
        apiVersion,
        kind: 'ServiceFleet',
        metadata: { name: 'llm' },
        spec: {
          replicas: this.#replicas,
          template: { spec },
          update: { minReadySeconds: 0, maxSurge: surge },
          scaleIn: { maxPerMinute: 1000 },
          drain: { graceSeconds: 1 },
        },
      },
      ...(this.#protected ? [task('work', { serviceRef: { name: this.#protected.replica } })] : []),
    ]);
  }

  async services(): Promise<Json[]> {
    return (await this.#plane.account()).services;
  }

  /** What must hold at every moment. */
  async check(): Promise<void> {
    const all = await this.services();
    const marks = all.flatMap(({ environmentNames }) =>
      environmentNames.flatMap((name: string) => parseBeacon(name)?.uid ?? []),
    );
    if (new Set(marks).size !== marks.length)
      this.violations.push(`a replica twice: ${JSON.stringify(all.map(({ name }) => name))}`);
    const most = this.#mostWanted + 2 * surge;
    if (all.length > most) this.violations.push(`${all.length} services, at most ${most} are allowed`);
    const { id } = this.#protected ?? {};
    if (id !== undefined && !all.some((one) => one.id === id))
      this.violations.push(`${id} is gone, and protected`);
  }

  async step(): Promise<void> {
    const random = this.#random;
    const deeds = [
      () => this.#edit(() => (this.#replicas = random.between(0, 5))),
      () => this.#edit(() => (this.#replicas = random.between(0, 5))),
      () => this.#edit(() => (this.#image = random.between(1, 3))),
      () => this.#edit(() => (this.#token = random.pick(['one', 'two']))),
      () => this.#edit(() => (this.#region = random.pick(['standard', 'economy']))),
      () => this.#plane.faults(random.chance(0.5) ? lossy : []),
      () => this.#restart(false),
      () => this.#restart(random.chance(0.3)),
      () => this.#protect(),
    ];
    await random.pick(deeds)();
    for (let moment = 0; moment < random.between(1, 12); moment += 1) {
      await sleep(random.between(50, 1500));
      await this.check();
    }
  }

  async #edit(change: () => void): Promise<void> {
    change();
    this.#mostWanted = Math.max(this.#mostWanted, this.#replicas);
    await this.write();
  }

  async #restart(losesState: boolean): Promise<void> {
    await this.#run.kill('SIGKILL');
    if (losesState) await rm(folderOf(this.#fleet).state, { force: true });
    this.#run = this.#fleet.run('--owner', 'fleet');
  }

  /** A task counts from when its activity is registered. */
  async #protect(): Promise<void> {
    if (this.#protected) {
      this.#protected = undefined;
      return this.write();
    }
    const running = (await this.services()).filter(({ state }) => state === 'running');
    if (running.length === 0) return;
    const { id, name } = this.#random.pick(running);
    this.#protected = { id, replica: name };
    await this.write();
    this.#protected = undefined;
    await sleep(5000);
    const known = await this.#plane
      .call('GET', `/api/services/${id}/activity`)
      .catch(() => ({ activities: [] }));
    if (known.activities.length > 0) this.#protected = { id, replica: name };
    else await this.write();
  }

  /** Where the state of a task was lost with its document, nobody but a person can say that it is over. */
  async #releaseAll(): Promise<void> {
    for (const { id } of await this.services()) {
      const path = `/api/services/${id}/activity`;
      const { activities } = await this.#plane.call('GET', path);
      for (const { id: activity, name } of activities)
        await this.#plane.call('POST', path, { id: activity, name, release: true });
    }
  }

  /** For whoever reads why it did not end. */
  async #state(): Promise<string> {
    const services = (await this.services()).map(({ name, state, region, image }) =>
      [name, state, region, image].join(' '),
    );
    const records = [...(await this.#fleet.records())].map(([key, { status, kind }]) => {
      const pending = status?.conditions.find((each) => each.type !== 'Ready' && each.status === 'True');
      return `${key} ${pending?.reason}: ${pending?.message} ${key.startsWith('ServiceFleet') ? JSON.stringify(kind) : ''}`;
    });
    return [...services, ...records].join('\n');
  }

  /** Nothing goes wrong any more, and nobody wants anything new. */
  async settle(): Promise<void> {
    await this.#plane.faults([]);
    this.#protected = undefined;
    await this.write();
    await sleep(20_000);
    await this.#releaseAll();
    let last = '';
    await eventually(
      `${this.#replicas} replicas of image ${this.#image} in ${this.#region}`,
      async () => {
        await this.check();
        const all = await this.services();
        const image = `ghcr.io/acme/llm:${this.#image}`;
        const isDone = ({ state, ...shown }: Json) =>
          state === 'running' && shown.image === image && shown.region === this.#region;
        last = await this.#state();
        const ready = await this.#fleet.condition('ServiceFleet/llm', 'Ready');
        return all.length === this.#replicas && all.every(isDone) && ready?.status === 'True';
      },
      1_500_000,
    ).catch((error: Error) => {
      throw new Error(`${error.message}\n${last}`);
    });
    await sleep(20_000);
    await this.#plane.forgetRequests();
    await sleep(60_000);
    const sent = (await this.#plane.requests()).filter(isMutation);
    this.violations.push(...sent.map(({ method, path }) => `sent by a stable fleet: ${method} ${path}`));
    await this.#run.kill('SIGTERM');
  }
}

const turmoils = Array.from({ length: 8 }, (_, index) => seed + index);

// On the clock of a machine, each takes minutes; fleets.test.ts has what real processes have to show.
test.skipIf(!isSimulated || isInCluster).each(turmoils)(
  'whatever happens to a fleet, drawn with SEED=%d',
  async (each) => {
    const folder = await temporaryFolder();
    const plane = await new ControlPlane(folder).start();
    const fleet = await createFleet(folder);
    await fleet.write('account.yaml', account(plane.url));
    const turmoil = new Turmoil(plane, fleet, new SeededRandom(each));
    await turmoil.write();
    await sleep(5000);
    for (let step = 0; step < 15; step += 1) await turmoil.step();
    await turmoil.settle();
    expect(turmoil.violations).toEqual([]);
  },
);
