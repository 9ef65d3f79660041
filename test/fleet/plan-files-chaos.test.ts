/**
 * Whatever happens while plan files are applied: no request leaves that is not in the file, and none twice (PI1, PI3); a file that is
 * refused sends nothing (PI2). Random documents, foreign changes at any moment, kill -9, and the same file again.
 */
import { expect } from 'vitest';
import { isMutation, type RecordedRequest } from '../support/processes/control-plane.ts';
import { service, type Json, testInTime } from '../support/processes/fleet.ts';
import { PlanFileWorld } from '../support/processes/plan-files.ts';
import { fleetOf, template } from '../support/processes/replicas.ts';
import { seed } from '../support/seed.ts';
import { SeededRandom } from '../support/seeded-random.ts';

const names = ['a', 'b', 'c', 'd', 'e'];
const image = (random: SeededRandom) => `ghcr.io/acme/app:${random.between(1, 4)}`;

function documents(random: SeededRandom): object[] {
  const services = names
    .filter(() => random.chance(0.8))
    .map((name) =>
      service(name, {
        image: image(random),
        resources: { cpu: random.pick([1, 2]), memoryGb: 1 },
        desiredState: random.pick(['Running', 'Running', 'Stopped']),
        ...(random.chance(0.5) ? { env: [{ name: 'MODE', value: String(random.between(1, 3)) }] } : {}),
      }),
    );
  const replicas = random.between(1, 4);
  return [...services, fleetOf('llm', { replicas, template: template({ image: image(random) }) })];
}

/** As somebody else, whose keys are known: another image, or another state. */
async function meddle({ plane }: PlanFileWorld, random: SeededRandom, keys: Set<string>): Promise<void> {
  const { services } = await plane.account();
  if (services.length === 0) return;
  const { id, revision } = random.pick<Json>(services);
  const before = new Set((await plane.requests()).map(({ idempotencyKey }) => idempotencyKey));
  const isPatch = random.chance(0.8);
  const method = isPatch ? 'PATCH' : 'POST';
  const path = isPatch ? `/api/services/${id}` : `/api/services/${id}/actions`;
  const body = isPatch
    ? { revision, patch: { image: image(random) } }
    : { action: random.pick(['stop', 'start']) };
  await plane.call(method, path, body).catch(() => undefined);
  for (const sent of await plane.requests()) {
    const { idempotencyKey: key } = sent;
    if (key !== null && !before.has(key) && sent.method === method && sent.path === path) keys.add(key);
  }
}

/**
 * How many requests of a service a file allows, and how many of them change what it is: its own steps, and of a replica those that its
 * fleet brings about. An update may be taken back, and may take another replica in the place of one.
 */
function allowed(plan: Json, name: string): { readonly all: number; readonly patches: number } {
  const stepsOf = (key: string): Json[] => {
    const object = plan.objects.find((one: Json) => one.key === key);
    return object ? [...object.steps, ...object.later] : [];
  };
  const own = stepsOf(`ContainerService/default/${name}`);
  const ofFleet = name.startsWith('llm-') ? stepsOf('ServiceFleet/default/llm') : [];
  const has = (action: string) => ofFleet.some((step: Json) => step.action === action);
  const byUpdate = has('update') ? 2 : 0;
  return {
    all: own.length + byUpdate + (has('drain') || has('update') ? 1 : 0),
    patches: own.filter(({ action }) => action === 'patch-service').length + byUpdate,
  };
}

function distinct(requests: readonly RecordedRequest[], foreign: ReadonlySet<string>): RecordedRequest[] {
  const seen = new Map<string, RecordedRequest>();
  for (const request of requests.filter(isMutation)) {
    const { idempotencyKey: key, status } = request;
    const isDone = status !== null && status < 300;
    if (key !== null && !foreign.has(key) && isDone) seen.set(key, request);
  }
  return [...seen.values()];
}

/** Resolves with the number of requests that were sent. */
async function round(world: PlanFileWorld, random: SeededRandom): Promise<number> {
  await world.fleet.write('all.yaml', documents(random));
  const { plan } = await world.plan('--allow-mass-change');
  const ids = new Map<string, string>(
    (await world.plane.account()).services.map(({ id, name }: Json) => [id, name]),
  );
  await world.plane.forgetRequests();
  const foreign = new Set<string>();
  if (random.chance(0.2)) await meddle(world, random, foreign);
  for (let attempt = 0; attempt < 4; attempt += 1) {
    const sentBefore = distinct(await world.plane.requests(), foreign).length;
    const running = world.begin('--timeout', '10m');
    for (let happened = random.chance(0.4) ? 0 : random.between(2, 8); happened > 0; happened -= 1) {
      await world.pause(random.between(50, 2000));
      await meddle(world, random, foreign);
    }
    const isKilled = random.chance(0.5) && attempt < 3;
    const { code, stderr } = isKilled ? await running.kill('SIGKILL') : await running.finished();
    const sentAfter = distinct(await world.plane.requests(), foreign).length;
    if (stderr.includes('nothing was applied')) expect(sentAfter).toBe(sentBefore);
    if (code === 0 || code === 3) break;
  }
  for (const { id, name } of (await world.plane.account()).services as Json[]) ids.set(id, name);
  const sent = distinct(await world.plane.requests(), foreign);
  const nameIn = ({ path }: RecordedRequest) => ids.get(/^\/api\/services\/([^/]+)/.exec(path)?.[1] ?? '');
  for (const [name, requests] of Map.groupBy(sent, nameIn)) {
    if (name === undefined) continue;
    const most = allowed(plan, name);
    const shown = `${name}: ${requests.map(({ method, path }) => `${method} ${path}`).join(', ')}`;
    expect({ shown, isTooMuch: requests.length > most.all }).toEqual({ shown, isTooMuch: false });
    const patches = requests.filter(({ method }) => method === 'PATCH');
    expect({ shown, isTooMuch: patches.length > most.patches }).toEqual({ shown, isTooMuch: false });
  }
  const created = sent.filter(({ method, path }) => method === 'POST' && path === '/api/services').length;
  const planned = plan.objects.flatMap(({ steps, later }: Json) => steps.concat(later));
  const creations = planned.reduce((sum: number, { action, count = 1 }: Json) => {
    if (action === 'create-service') return sum + 1;
    return ['add', 'update'].includes(action) ? sum + Number(count) : sum;
  }, 0);
  expect(created).toBeLessThanOrEqual(creations);
  return sent.length;
}

testInTime(
  `no request leaves that is not in the file, whatever happens meanwhile (seed ${seed})`,
  async () => {
    const random = new SeededRandom(seed);
    const world = await PlanFileWorld.open({ requests: { perSecond: 4, burst: 1, concurrency: 1 } });
    let sent = 0;
    for (let rounds = 0; rounds < 6; rounds += 1) {
      sent += await round(world, random);
      await world.pause(20_000);
    }
    expect(sent).toBeGreaterThan(5);
  },
);
