/** A plan of a fleet shows what an apply gets to later, whatever the fleet waits for at that moment. */
import { readFile, writeFile } from 'node:fs/promises';
import { describe, expect } from 'vitest';
import { stringify } from 'yaml';
import { apiVersion } from '../../src/resources/index.ts';
import { ControlPlane, isMutation } from '../support/processes/control-plane.ts';
import { account, createFleet, testInFolder, type Json } from '../support/processes/fleet.ts';
import { eventually, fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';
import { fleetOf, template } from '../support/processes/replicas.ts';

async function world(spec: object) {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write('llm.yaml', [fleetOf('llm', spec)]);
  expect((await fleet.apply()).code).toBe(0);
  await plane.forgetRequests();
  const mutations = async () => (await plane.requests()).filter(isMutation);
  const edit = (next: object) => fleet.write('llm.yaml', [fleetOf('llm', { ...spec, ...next })]);
  return { folder, plane, fleet, mutations, edit };
}

const larger = template({ image: 'ghcr.io/acme/llm:2', resources: { cpu: 2, memoryGb: 1 } });

testInFolder('what is left of a rollout, with its price, behind a pause', async () => {
  const { fleet, edit } = await world({});
  const update = {
    minReadySeconds: 0,
    maxSurge: 0,
    maxUnavailable: 1,
    steps: [{ replicas: 1 }, { pause: {} }],
  };
  await edit({ update, template: larger });
  expect((await fleet.apply('--timeout', '20s')).code).toBe(1);
  const { plan, code } = await fleet.plan('--max-cost-increase', '0');
  expect(plan.changes).toMatchObject([
    { kind: 'ServiceFleet', action: 'update', replicas: [{ action: 'update' }, { action: 'update' }] },
  ]);
  expect(plan.changes[0].cost.deltaMicros).toBeGreaterThan(0);
  expect(code).toBe(4);
});

describe('a fleet whose document is removed while it removes replicas', () => {
  const spec = { replicas: 4, scaleIn: { maxPerMinute: 1 } };

  testInFolder('is shown as a whole, and nothing of it is destroyed without consent', async () => {
    const { fleet, mutations, edit } = await world(spec);
    await edit({ replicas: 3 });
    expect((await fleet.apply()).code).toBe(0);
    const before = await mutations();
    const flags = [...fleet.flags, '--settle', '1s'];
    const asked = await fleetkeeper(['destroy', ...flags]);
    expect([asked.code, asked.stderr]).toEqual([1, expect.stringContaining('--yes')]);
    expect(await mutations()).toEqual(before);
    await fleet.remove('llm.yaml');
    const { plan, code } = await fleet.plan();
    const [change] = plan.changes;
    expect([code, change.action, change.replicas.length]).toEqual([2, 'delete', 3]);
  });
});

testInFolder('an edit beside a command', async () => {
  const { fleet, edit } = await world({});
  expect((await fleetkeeper(['retire', 'llm-0', ...fleet.flags])).code).toBe(0);
  await edit({ template: larger });
  const { plan } = await fleet.plan();
  const [{ action, differences, replicas, cost }] = plan.changes;
  const paths = differences.map(({ path }: Json) => path);
  expect([action, paths]).toEqual([
    'update',
    ['replica 0', 'template', 'revision', 'template.image', 'template.resources'],
  ]);
  const named = replicas.map((each: Json) => `${each.action} ${each.name}`);
  expect(named.sort()).toEqual(['delete llm-0', 'update llm-1', 'update llm-2']);
  expect(cost.deltaMicros).toBeGreaterThan(0);
  expect((await fleet.apply()).code).toBe(0);
  expect((await fleet.plan()).plan.changes).toEqual([]);
});

testInFolder('another number beside a command', async () => {
  const { plane, fleet, edit } = await world({});
  expect((await fleetkeeper(['retire', 'llm-0', ...fleet.flags])).code).toBe(0);
  await edit({ replicas: 5 });
  const { plan } = await fleet.plan();
  const [{ action, differences, replicas }] = plan.changes;
  expect([action, differences]).toMatchObject([
    'scale',
    [{ path: 'replica 0' }, { path: 'replicas', desired: 5, observed: 3 }],
  ]);
  const named = replicas.map((each: Json) => `${each.action} ${each.name}`);
  expect(named.sort()).toEqual(['create llm-3', 'create llm-4', 'delete llm-0']);
  expect((await fleet.apply()).code).toBe(0);
  expect((await plane.account()).services).toHaveLength(5);
});

testInFolder('nothing of a rollout that a command is about to stop', async () => {
  const { fleet, edit } = await world({});
  const update = { minReadySeconds: 0, steps: [{ replicas: 1 }, { pause: {} }] };
  await edit({ update, template: larger });
  expect((await fleet.apply('--timeout', '20s')).code).toBe(1);
  expect((await fleetkeeper(['rollout', 'freeze', 'llm', ...fleet.flags])).code).toBe(0);
  const { plan, code } = await fleet.plan('--max-cost-increase', '0');
  expect(plan.changes[0].differences.map(({ path }: Json) => path)).toEqual(['rollout']);
  expect(code).toBe(2);
});

testInFolder('replicas that are added once others have left', async () => {
  const update = { minReadySeconds: 0, maxSurge: 0, maxUnavailable: 1 };
  const { fleet, edit } = await world({ update, drain: { graceSeconds: 3600 } });
  await edit({ update, drain: { graceSeconds: 3600 }, replicas: 1 });
  expect((await fleet.apply('--timeout', '10s')).code).toBe(1);
  await edit({ update, drain: { graceSeconds: 3600 }, replicas: 5 });
  const { plan } = await fleet.plan();
  const count = plan.changes[0].differences.find(({ path }: Json) => path === 'replicas');
  expect(count).toMatchObject({ desired: 5, observed: 1 });
});

describe('replicas with storage of their own are replaced', () => {
  const storage = { scratch: { volumeGb: 10 } };
  const lost = async (spec: object, next: object) => {
    const { fleet, edit } = await world({ replicas: 2, ...spec });
    await edit(next);
    const { plan } = await fleet.plan();
    const [{ action, replicas, destroysData }] = plan.changes;
    return [action, replicas.map((each: Json) => each.action), destroysData];
  };

  testInFolder('by a rollout, and their data is lost, as that of a single service', async () => {
    const update = { minReadySeconds: 0, mode: 'Replace' };
    const image = template({ image: 'ghcr.io/acme/llm:2' });
    expect(await lost({ storage, update }, { template: image })).toEqual([
      'update',
      ['replace', 'replace'],
      true,
    ]);
    expect(await lost({ update }, { template: image })).toEqual([
      'update',
      ['replace', 'replace'],
      undefined,
    ]);
  });

  testInFolder('because the document asks for other storage, or for none', async () => {
    const replaced = ['update', ['replace', 'replace'], true];
    expect(await lost({ storage }, { storage: { scratch: { volumeGb: 20 } } })).toEqual(replaced);
    expect(await lost({ storage }, { storage: undefined })).toEqual(replaced);
    expect(await lost({}, { storage })).toEqual(['update', ['replace', 'replace'], undefined]);
  });
});

describe('a replica that stays broken', () => {
  const spec = {
    template: template({ driftPolicy: 'Report' }),
    storage: { scratch: { volumeGb: 10 } },
    repair: { afterSeconds: 60 },
  };

  /** A command has found it, and does not wait for the repair. */
  async function broken() {
    const made = await world(spec);
    const { plane, fleet } = made;
    const { id, revision } = await plane.service('llm-1');
    await plane.call('PATCH', `/api/services/${id}`, {
      revision,
      patch: { image: 'registry.invalid/llm:1' },
    });
    await eventually('it is broken', async () => (await plane.service('llm-1')).state === 'error');
    const { stderr } = await fleet.apply();
    expect(stderr).toContain('1 object(s) need a person: ContainerService default/llm-1 (ServiceError)');
    return made;
  }

  testInFolder('is replaced by an apply that waits for it, so that is in the plan', async () => {
    const { plane, fleet } = await broken();
    const { plan, code } = await fleet.plan();
    expect(plan.changes).toMatchObject([
      {
        kind: 'ServiceFleet',
        action: 'update',
        reason: 'Repairing',
        differences: [{ path: 'replica 1', desired: '(replaced)', observed: 'ServiceError' }],
        replicas: [{ name: 'llm-1', action: 'replace' }],
        destroysData: true,
      },
    ]);
    expect([code, plan.summary.replicas]).toMatchObject([2, { replace: 1 }]);
    const asked = await fleetkeeper(['apply', ...fleet.flags, '--settle', '1s']);
    expect([asked.code, asked.stderr]).toEqual([1, expect.stringContaining('--yes')]);
    expect((await fleet.apply()).code).toBe(0);
    const { services } = await plane.account();
    expect(services.map(({ name }: Json) => name).sort()).toEqual(['llm-0', 'llm-2', 'llm-3']);
    expect((await fleet.plan()).plan.changes).toEqual([]);
  });

  testInFolder('is not replaced against a rule, neither in a plan nor by an apply', async () => {
    const { plane, fleet, folder, edit } = await broken();
    const policy = `${folder}/policy.yaml`;
    const rule = { name: 'kept', deny: 'change.replicas.replace > 0', message: 'none is replaced' };
    const metadata = { name: 'rules' };
    await writeFile(policy, stringify({ apiVersion, kind: 'PlanPolicy', metadata, rules: [rule] }));
    const { plan, code } = await fleet.plan('--policy', policy);
    expect([code, plan.held]).toMatchObject([4, [{}, { name: 'llm', reason: 'PolicyDenied' }]]);
    await fleet.apply('--policy', policy, '--timeout', '120s');
    const { services } = await plane.account();
    expect(services.map(({ name }: Json) => name).sort()).toEqual(['llm-0', 'llm-1', 'llm-2']);
    expect((await fleet.condition('ServiceFleet/llm', 'Ready'))?.reason).toBe('PolicyDenied');
    await edit({ replicas: 4 });
    await fleet.apply('--policy', policy, '--timeout', '20s');
    const names = async () => (await plane.account()).services.map(({ name }: Json) => name).sort();
    expect(await names()).toEqual(['llm-0', 'llm-1', 'llm-2']);
    fleet.run('--policy', policy);
    await eventually('the others are not kept waiting', async () => (await names()).includes('llm-3'));
    expect(await names()).toEqual(['llm-0', 'llm-1', 'llm-2', 'llm-3']);
  });

  testInFolder('is in a plan file, beside other changes', async () => {
    const { plane, fleet, folder, edit } = await broken();
    await edit({ replicas: 4 });
    const file = `${folder}/plan.json`;
    expect((await fleet.plan('--out', file)).code).toBe(2);
    const { objects } = JSON.parse(await readFile(file, 'utf8'));
    const steps = objects[0].steps.map(({ action, count }: Json) => `${action} ${count}`);
    expect(steps).toEqual(['add 1', 'repair 1']);
    const { code, stderr } = await fleetkeeper(['apply', file, ...fleet.flags, '--settle', '1s']);
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('NotInPlan')]);
    const { services } = await plane.account();
    expect(services.map(({ name }: Json) => name).sort()).toEqual(['llm-0', 'llm-2', 'llm-3', 'llm-4']);
  });

  testInFolder('is replaced beside other changes, unless these mend or remove it', async () => {
    const { fleet, edit } = await broken();
    const replicas = async () => {
      const [change] = (await fleet.plan()).plan.changes;
      return change?.replicas.map((each: Json) => `${each.action} ${each.name}`).sort();
    };
    await edit({ replicas: 4 });
    expect(await replicas()).toEqual(['create llm-3', 'replace llm-1']);
    await edit({ replicas: 2 });
    expect(await replicas()).toEqual(['delete llm-1']);
    await edit({ template: template({ driftPolicy: 'Report', command: ['serve'] }) });
    expect(await replicas()).toEqual(['update llm-0', 'update llm-1', 'update llm-2']);
    await edit({ repair: { mode: 'Report' } });
    expect(await replicas()).toBeUndefined();
  });
});
