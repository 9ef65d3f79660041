import { describe, expect, test } from 'vitest';
import {
  ControlApi,
  Limiter,
  type HttpReply,
  type Outcome,
  type Transport,
  type wire,
} from '../../../src/api/index.ts';
import { Sensitive, systemRandom } from '../../../src/base/index.ts';
import { AccountInformer, type Lists, type SnapshotChange } from '../../../src/observed/index.ts';
import { differingInList, listHasLost, nextListing, type Listing } from '../../../src/observed/listing.ts';
import { createLogger, createMetrics } from '../../../src/telemetry/index.ts';
import { ManualClock } from '../../support/manual-clock.ts';

interface Item {
  readonly id: string;
  readonly name?: string;
}

type Answer = Outcome<wire.Shown<Item>>;

const shows = (...items: Item[]): Answer => ({
  kind: 'applied',
  status: 200,
  value: { items, unidentified: [] },
});
const fails: Answer = { kind: 'unknown', reason: 'reset' };

/** The listings after each of the answers, and what counted as changed. */
function history(...outcomes: (Answer | undefined)[]) {
  let listing: Listing<Item> | undefined;
  return outcomes.map((outcome) => {
    const next = nextListing('templates', listing, outcome);
    const changed = differingInList(listing, next);
    const lost = listing ? listHasLost(listing, next) : false;
    listing = next;
    return { listing: next, changed, lost };
  });
}

describe('a list that is read beside the account', () => {
  test('tells what is new, gone or different', () => {
    const steps = history(shows({ id: 'a' }, { id: 'b' }), shows({ id: 'b', name: 'x' }, { id: 'c' }));
    expect(steps.map(({ changed }) => [...changed].sort())).toEqual([
      ['a', 'b'],
      ['a', 'b', 'c'],
    ]);
    expect(steps.map(({ lost }) => lost)).toEqual([false, true]);
  });

  test('keeps the identity of what did not change, also over a failure', () => {
    const [first, , third] = history(shows({ id: 'a' }), fails, shows({ id: 'a' }));
    const item = (step: typeof first) =>
      step?.listing.kind === 'read' ? step.listing.items.get('a') : undefined;
    expect(item(third)).toBe(item(first));
    expect(third?.changed).toEqual([]);
  });

  test('that can not be read says so, and nothing else', () => {
    const [, failed] = history(shows({ id: 'a' }), fails);
    expect(failed).toMatchObject({ changed: [], lost: false, listing: { kind: 'failed', failures: 1 } });
    expect(failed?.listing).toMatchObject({
      message: 'the templates of the account could not be read: outcome unknown: reset',
    });
  });

  test('three times in a row is unknown to everything in it, and known again afterwards', () => {
    const steps = history(
      shows({ id: 'a' }),
      fails,
      fails,
      fails,
      fails,
      shows({ id: 'a' }),
      shows({ id: 'a' }),
    );
    expect(steps.map(({ changed }) => changed)).toEqual([['a'], [], [], ['a'], [], ['a'], []]);
  });

  test('what vanished during a failure is noticed after it', () => {
    const steps = history(shows({ id: 'a' }), fails, shows());
    expect(steps.map(({ changed, lost }) => [changed, lost])).toEqual([
      [['a'], false],
      [[], false],
      [['a'], true],
    ]);
  });

  test('that nobody asks for any more is forgotten', () => {
    const [, none, again] = history(shows({ id: 'a' }), undefined, shows({ id: 'a' }));
    expect(none).toMatchObject({ listing: { kind: 'not-read' }, changed: [], lost: false });
    expect(again?.changed).toEqual(['a']);
  });
});

const logger = createLogger('silent');
const metrics = createMetrics();

describe('an account informer', () => {
  const id = '00000000-0000-4000-8000-000000000001';
  const accountBody = { balanceMicros: 5, currency: 'USD', services: [], volumes: [], ledger: [] };

  /** Paths asked for in each poll, and what was told. */
  async function polls(
    lists: (poll: number) => Lists,
    answers: (path: string, poll: number) => object | number,
  ) {
    const clock = new ManualClock(0);
    const asked: string[][] = [];
    const reported: SnapshotChange[] = [];
    const transport: Transport = {
      exchange: async ({ url }): Promise<HttpReply> => {
        const path = new URL(url).pathname;
        asked.at(-1)?.push(path);
        const answer = path === '/api/account' ? accountBody : answers(path, asked.length);
        const failed = typeof answer === 'number';
        const body = JSON.stringify(failed ? { error: { code: 'no', message: 'no' } } : answer);
        return { kind: 'reply', status: failed ? answer : 200, retryAfter: undefined, body };
      },
      close: () => Promise.resolve(),
    };
    const limits = { account: 'default', perSecond: 1000, burst: 1000, concurrency: 4 };
    const informer = new AccountInformer({
      api: new ControlApi({
        baseUrl: 'https://api.example.com',
        credential: () => new Sensitive('key'),
        transport,
        limiter: new Limiter(limits, clock, metrics),
        clock,
        metrics,
      }),
      identity: { current: true, recheck: () => undefined, check: () => Promise.resolve(undefined) },
      clock,
      random: systemRandom,
      logger,
      pollMs: 1000,
      quietPollMs: 1000,
      hasOpenWork: () => false,
      lists: () => {
        asked.push([]);
        return lists(asked.length);
      },
      heartbeatsWait: () => false,
      onSnapshot: (change) => reported.push(change),
      onFailure: () => undefined,
    });
    informer.start();
    await clock.advance(2500);
    await informer.stop();
    return { asked: asked.map((paths) => paths.sort()), reported };
  }

  test('reads a list in the polls in which somebody has use for it, and not in others', async () => {
    const { asked } = await polls(
      (poll) => ({ templates: poll === 2, registries: poll === 3 }),
      (path) => (path === '/api/templates' ? { templates: [] } : { registries: [] }),
    );
    expect(asked).toEqual([
      ['/api/account'],
      ['/api/account', '/api/templates'],
      ['/api/account', '/api/registries'],
    ]);
  });

  test('goes on with the account when a list can not be read', async () => {
    const { reported } = await polls(
      () => ({ templates: true, registries: true }),
      (path, poll) => {
        if (path === '/api/registries') return { registries: [{ id, repository: 'ghcr.io/a/b' }] };
        return poll === 2 ? 503 : { templates: [{ id: 'built-in', name: 'PyTorch' }] };
      },
    );
    expect(reported.map(({ snapshot }) => snapshot.templates.kind)).toEqual(['read', 'failed', 'read']);
    expect(reported.map(({ snapshot }) => snapshot.registries.kind)).toEqual(['read', 'read', 'read']);
    expect(reported.map(({ changedIds }) => [...changedIds].sort())).toEqual([[id, 'built-in'], [], []]);
  });
});
