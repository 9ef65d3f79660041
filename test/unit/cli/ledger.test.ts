/** `ledger --follow`: it continues while the API fails, and ends when nobody reads. */
import { expect, test } from 'vitest';
import { errorForm, serve } from '../../servers/api/support.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { CommandLine } from './support.ts';

const entry = (id: number) => ({
  id: `entry-${id}`,
  type: 'charge',
  amountMicros: -id,
  createdAt: id * 1000,
});

test('a failed read is shown once, the next one brings what was missed, and `| head` ends it', async () => {
  let entries = [entry(1)];
  let isDown = false;
  await using server = await serve((response, { path }) => {
    if (path === '/api/me') response.end(JSON.stringify({ id: 'acme', emailVerified: true }));
    else if (isDown) response.writeHead(503).end(JSON.stringify(errorForm('unavailable', 'later')));
    else
      response.end(
        JSON.stringify({ balanceMicros: 5, currency: 'USD', services: [], volumes: [], ledger: entries }),
      );
  });
  const clock = new ManualClock(0);
  const environment = { FLEETKEEPER_API_URL: server.url, FLEETKEEPER_API_KEY: 'key' };
  const line = new CommandLine(['ledger', '--follow', '-o', 'jsonl'], { environment, clock });
  const reads = () => server.requests.filter(({ path }) => path === '/api/account').length;
  const nextRead = async () => {
    const before = reads();
    while (reads() === before) {
      // Less than the time that a request has for its answer, by far.
      await clock.advance(50);
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
  };
  await line.shows('"entry-1"');
  isDown = true;
  await nextRead();
  await line.shows('503', 'stderr');
  await nextRead();
  await nextRead();
  isDown = false;
  entries = [entry(2), entry(1)];
  await nextRead();
  await line.shows('"entry-2"');
  expect(line.stderr.match(/can't read the account/g)).toHaveLength(1);
  expect(line.stdout.match(/"entry-1"/g)).toHaveLength(1);
  line.hangUp();
  expect(await line.ended).toBe(0);
});
