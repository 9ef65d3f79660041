/** What a status shows of a thing while its object is held, and nothing is observed for it. */
import { expect, test } from 'vitest';
import type { ObjectRecord } from '../../../src/state/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import { settle } from '../../support/manual-clock.ts';
import {
  access,
  scriptedFleet,
  shownService,
  web,
  type ScriptedFleet,
} from '../../support/scripted-fleet.ts';

const endpoint = 'https://web.example';
const whole = desiredOf({ ...access, 'web.yaml': serviceDocument('web') });
const broken = desiredOf({ ...access, 'web.yaml': serviceDocument('web', ['httpPort: eighty']) });
const brokenAccount = desiredOf({ ...access, 'account.yaml': 'kind: [', 'web.yaml': serviceDocument('web') });

async function runningFleet(): Promise<ScriptedFleet> {
  const fleet = await scriptedFleet(whole, {
    prepare: (api) => {
      api.on['POST /api/services'] = () => {
        api.services = [shownService({ endpoint })];
        return { status: 201, body: { service: shownService({ endpoint }) } };
      };
    },
  });
  await fleet.clock.advance(60_000);
  return fleet;
}

function shown({ store }: ScriptedFleet) {
  const { status, generation } = store.record(web) as ObjectRecord;
  const reasonOf = (type: string) => status?.conditions.find((one) => one.type === type)?.reason;
  return {
    state: status?.['state'],
    endpoint: status?.['endpoint'],
    revision: status?.revision,
    isCurrent: status?.observedGeneration === generation,
    ready: reasonOf('Ready'),
    allocated: reasonOf('Allocated'),
  };
}

const running = { state: 'running', endpoint, revision: 1, isCurrent: true };

test('a document that breaks hides neither the state nor the endpoint of its service', async () => {
  const fleet = await runningFleet();
  expect(shown(fleet)).toEqual({ ...running, ready: 'Running', allocated: 'ComputeHeld' });
  fleet.tell(broken);
  await settle();
  expect(shown(fleet)).toEqual({ ...running, ready: 'InvalidSpec', allocated: 'ComputeHeld' });
});

test('while its document is broken, a service that falls asleep is shown asleep', async () => {
  const fleet = await runningFleet();
  fleet.tell(broken);
  fleet.api.services = [shownService({ endpoint, state: 'sleeping', revision: 2 })];
  await fleet.clock.advance(60_000);
  expect(shown(fleet)).toMatchObject({ state: 'sleeping', revision: 2, ready: 'InvalidSpec' });
});

test('a manager that starts with a broken document shows what was last observed, and claims no allocation', async () => {
  const { store } = await runningFleet();
  const fleet = await scriptedFleet(broken, {
    store,
    prepare: (api) => {
      api.on['GET /api/account'] = () => ({ status: 503 });
    },
  });
  await fleet.clock.advance(60_000);
  expect(shown(fleet)).toEqual({ ...running, ready: 'InvalidSpec', allocated: 'AwaitingObservation' });
});

test('what the account no longer shows is not shown as running for ever', async () => {
  const fleet = await runningFleet();
  fleet.tell(broken);
  await settle();
  fleet.tell(whole);
  fleet.api.services = [];
  fleet.api.on['POST /api/services'] = () => ({ status: 409 });
  await fleet.clock.advance(120_000);
  expect(shown(fleet)).toMatchObject({ state: undefined, endpoint: undefined });
});

test('a service is shown as last observed while the API can not be reached', async () => {
  const fleet = await runningFleet();
  fleet.api.on['GET /api/account'] = () => ({ status: 503 });
  await fleet.clock.advance(600_000);
  expect(shown(fleet)).toMatchObject({ ...running, ready: 'ApiUnreachable' });
});

test('while the API asks for a long pause of all reads, what is edited shows until when, and not that it is unreachable', async () => {
  const fleet = await runningFleet();
  fleet.api.on['GET /api/account'] = () => ({ status: 429, retryAfter: '1800' });
  await fleet.clock.advance(60_000);
  fleet.tell(desiredOf({ ...access, 'web.yaml': serviceDocument('web', ['command: [two]']) }));
  await fleet.clock.advance(10_000);
  expect(shown(fleet)).toMatchObject({ state: 'running', ready: 'ReadsRateLimited' });
  const ready = () => fleet.store.record(web)?.status?.conditions.find(({ type }) => type === 'Ready');
  const [, until = ''] =
    /send nothing before (\S+) \(429 with Retry-After\)/.exec(ready()?.message ?? '') ?? [];
  const leftMs = Date.parse(until) - fleet.clock.wallMs();
  expect(ready()?.status).toBe('Unknown');
  expect(leftMs).toBeGreaterThan(1_700_000);
  expect(leftMs).toBeLessThan(1_800_000);
  await fleet.manager.stop();
});

test('a document of an Account that breaks takes nothing from the services in it', async () => {
  const fleet = await runningFleet();
  fleet.tell(brokenAccount);
  await fleet.clock.advance(600_000);
  expect(shown(fleet)).toMatchObject(running);
});

test('a service whose Account is not there any more is shown as last observed', async () => {
  const fleet = await runningFleet();
  const { 'account.yaml': _account, ...rest } = access;
  fleet.tell(desiredOf({ ...rest, 'web.yaml': serviceDocument('web') }));
  await fleet.clock.advance(600_000);
  expect(shown(fleet)).toMatchObject({ ...running, ready: 'AccountNotFound' });
});
