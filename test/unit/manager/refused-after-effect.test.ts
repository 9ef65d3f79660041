/** A change that is refused, and is made all the same: a restart each time. Nobody is asked, and it is not sent without end. */
import { expect, test } from 'vitest';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  readyReason,
  scriptedFleet,
  serviceId,
  shownService,
  stoppedAfterEach,
  web,
  type Answer,
  type Asked,
  type ScriptedFleet,
} from '../../support/scripted-fleet.ts';

const files = (value: string) =>
  desiredOf({ ...access, 'web.yaml': serviceDocument('web', [`env: [{name: MODE, value: ${value}}]`]) });

interface Provider {
  readonly patches: Asked[];
  environment: Record<string, string>;
  /** What becomes of the patch after `count` others. */
  answers: (count: number) => 'made' | 'made and refused' | 'refused';
  /** Somebody else changes the values. */
  change: (environment: Record<string, string>) => void;
}

const running = stoppedAfterEach();
const hourMs = 3_600_000;

async function fleetOf(
  names: 'shows names' | 'hides names' = 'shows names',
): Promise<[ScriptedFleet, Provider]> {
  const shown = shownService();
  const provider: Provider = {
    patches: [],
    environment: {},
    answers: () => 'made',
    change(environment) {
      this.environment = environment;
      shown['revision'] = Number(shown['revision']) + 1;
      shown['environmentNames'] = names === 'hides names' ? undefined : Object.keys(environment);
    },
  };
  const fleet = await scriptedFleet(files('one'), {
    settleMs: 5000,
    prepare: (api) => {
      api.on['POST /api/services'] = ({ body }) => {
        provider.change(body.environment);
        Object.assign(shown, { name: body.name, image: body.image, resources: body.resources });
        api.services = [shown];
        return { status: 201, body: shown };
      };
      api.on[`PATCH /api/services/${serviceId}`] = (asked): Answer => {
        const answer = provider.answers(provider.patches.length);
        provider.patches.push(asked);
        if (answer !== 'refused' && asked.body.revision === shown['revision']) {
          provider.change(asked.body.patch.environment);
          if (answer === 'made') return { status: 200, body: shown };
        }
        return { status: 409, body: { error: { code: 'revision_conflict', message: 'stale' } } };
      };
    },
  });
  running.push(fleet);
  await fleet.clock.advance(30_000);
  expect(readyReason(fleet, web)).toBe('Running');
  return [fleet, provider];
}

const status = ({ store }: ScriptedFleet) => store.record(web)?.status;
const condition = (fleet: ScriptedFleet, type: string) =>
  status(fleet)?.conditions.find((each) => each.type === type);

test('values that somebody may have changed are sent again once, and then reported with what was found', async () => {
  const [fleet, provider] = await fleetOf();
  provider.answers = () => 'made and refused';
  provider.change({ ...provider.environment, MODE: 'theirs' });
  await fleet.clock.advance(hourMs);
  expect(provider.patches).toHaveLength(1);
  expect(condition(fleet, 'Drifted')?.status).toBe('True');
  expect(status(fleet)?.drift?.[0]?.cause).toMatch(
    /^it was sent again, and refused with 409 revision_conflict, but the revision moved from 3 to 4: it may have been carried out/,
  );
  provider.answers = () => 'made';
  fleet.tell(files('two'));
  await fleet.clock.advance(60_000);
  expect(provider.environment).toMatchObject({ MODE: 'two' });
  expect(condition(fleet, 'Drifted')?.status).toBe('False');
});

test('while the revision has not moved, nothing was made: they are sent again', async () => {
  const [fleet, provider] = await fleetOf();
  provider.answers = (count) => (count < 3 ? 'refused' : 'made');
  provider.change({ ...provider.environment, MODE: 'theirs' });
  await fleet.clock.advance(60_000);
  expect(provider.patches).toHaveLength(4);
  expect(provider.environment).toMatchObject({ MODE: 'one' });
  expect(readyReason(fleet, web)).toBe('Running');
});

test('an edit is sent after growing pauses, and the status says that it is refused', async () => {
  const [fleet, provider] = await fleetOf('hides names');
  provider.answers = () => 'made and refused';
  fleet.tell(files('two'));
  await fleet.clock.advance(hourMs);
  const gaps = provider.patches
    .slice(1)
    .map(({ atMs }, index) => atMs - (provider.patches[index]?.atMs ?? 0));
  expect(provider.patches.length).toBeLessThan(14);
  expect(gaps.at(-1)).toBeGreaterThanOrEqual(600_000);
  expect(readyReason(fleet, web)).toBe('KeepsChanging');
  expect(condition(fleet, 'Stalled')?.message).toContain('and the API refused it each time');
  provider.answers = () => 'made';
  await fleet.clock.advance(hourMs);
  expect(provider.environment).toMatchObject({ MODE: 'two' });
  expect(readyReason(fleet, web)).toBe('Running');
});

test('one conflict with somebody else delays an edit by no more than a second', async () => {
  const [fleet, provider] = await fleetOf();
  provider.answers = (count) => {
    if (count === 0) provider.change({ ...provider.environment });
    return 'made';
  };
  fleet.tell(files('two'));
  await fleet.clock.advance(3000);
  expect(provider.patches).toHaveLength(2);
  expect(provider.environment).toMatchObject({ MODE: 'two' });
});
