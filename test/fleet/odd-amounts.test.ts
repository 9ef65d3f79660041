/** A provider that shows amounts which nobody can have: what is counted of them can be stored, and the next process reads it. */
import { expect, test } from 'vitest';
import { Sqlite } from '../../src/base/index.ts';
import { apiVersion, type StoredTally } from '../../src/resources/index.ts';
import { ControlPlane } from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  folderOf,
  service,
  testInFolder,
  volume,
  type Json,
} from '../support/processes/fleet.ts';
import { Front } from '../support/processes/front.ts';
import { eventually, temporaryFolder } from '../support/processes/processes.ts';

const budget = (spec: object) => ({
  apiVersion,
  kind: 'Budget',
  metadata: { name: 'team' },
  spec: { limits: { hourlyMicros: 40_000_000 }, ...spec },
});

async function world(spec: object) {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const front = await new Front(() => plane.url).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(front.url));
  await fleet.write('fleet.yaml', [budget(spec), volume('data'), service('web')]);
  const polls = () => front.seen.filter(({ path }) => path === '/api/account').length;
  const morePolls = async () => {
    const before = polls();
    await eventually('three more polls', async () => polls() >= before + 3);
  };
  const tallyOf = async (object: string): Promise<StoredTally | undefined> => {
    const { kind }: { kind?: { tally?: StoredTally } } = (await fleet.records()).get(object) ?? {};
    return kind?.tally;
  };
  return { plane, front, fleet, morePolls, tallyOf };
}

test.each([{ scope: { namespace: true } }, { scope: { accountRef: { name: 'default' } } }])(
  'a volume of 1e308 GB without a price, in a budget of $scope: the next process continues',
  async ({ scope }) => {
    const { plane, front, fleet, morePolls, tallyOf } = await world(scope);
    const manager = fleet.run();
    await fleet.untilReady(3);
    front.rewrite = ({ path }, body) => {
      if (path !== '/api/account') return body;
      const odd = ({ hourlyMicros: _price, ...shown }: Json) => ({
        ...shown,
        sizeGb: 1e308,
        requestedSizeGb: 1e308,
      });
      return { ...body, volumes: body.volumes.map(odd) };
    };
    await morePolls();
    await eventually('a tally', async () => (await tallyOf('Budget/team')) !== undefined);
    await manager.kill('SIGTERM');
    front.rewrite = (_, body) => body;
    await plane.forgetRequests();
    fleet.run();
    await morePolls();
    await fleet.untilReady(3);
    expect(
      (await plane.requests()).filter(({ method, path }) => method === 'POST' && !path.endsWith('/activity')),
    ).toEqual([]);
    expect((await tallyOf('Budget/team'))?.burnMicros.length).toBeLessThan(17);
  },
);

testInFolder(
  'what an earlier version stored of such amounts is counted anew, and that is logged',
  async () => {
    const { plane, fleet, tallyOf } = await world({ namespace: true });
    const first = fleet.run();
    await fleet.untilReady(3);
    await eventually('a tally', async () => (await tallyOf('Budget/team')) !== undefined);
    await first.kill('SIGTERM');
    const before = await fleet.records();
    const database = new Sqlite(folderOf(fleet).state);
    for (const row of database.all('SELECT key, record FROM objects')) {
      const record = JSON.parse(String(row['record']));
      if (record.kind.tally) record.kind.tally.spent = '9'.repeat(320);
      database.run('UPDATE objects SET record = $record WHERE key = $key', {
        record: JSON.stringify(record),
        key: String(row['key']),
      });
    }
    database.close();
    await plane.forgetRequests();
    const second = fleet.run();
    await eventually('lines in the log', async () =>
      ['Budget/default/team', 'Account/default/default'].every((object) =>
        second.stderr
          .split('\n')
          .some((line) => line.includes('counted anew') && line.includes(object) && line.includes('tally')),
      ),
    );
    await fleet.untilReady(3);
    await eventually('another tally', async () => (await tallyOf('Budget/team'))?.spent.length !== 320);
    const after = await fleet.records();
    for (const [name, { externalId, uid }] of before)
      expect(after.get(name)).toMatchObject({ uid, externalId });
    expect((await plane.requests()).filter(({ method }) => method === 'POST')).toEqual([]);
  },
);
