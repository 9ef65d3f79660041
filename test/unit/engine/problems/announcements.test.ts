import { describe, expect, test } from 'vitest';
import { assert, constantFrom, nat, property, array, record } from 'fast-check';
import {
  dueMessages,
  nextAnnouncements,
  type AnnouncementEvent,
  type DueMessage,
} from '../../../../src/engine/problems/announcements.ts';
import { problemHash, type Trouble } from '../../../../src/engine/problems/trouble.ts';
import {
  objectKey,
  type NotificationTerms,
  type StoredNotification,
} from '../../../../src/resources/index.ts';
import { seed } from '../../../support/seed.ts';

const start = Date.UTC(2026, 10, 1);
const second = 1000;
const hour = 3_600_000;
const usual: NotificationTerms = { repeatHours: 24, maxPerHour: 30 };

interface Options {
  readonly reason?: string;
  readonly severity?: Trouble['severity'];
  readonly since?: number;
  readonly account?: string;
}

function trouble(name: string, options: Options = {}): Trouble {
  const { reason = 'ServiceError', severity = 'critical', since = start, account = 'default/main' } = options;
  const key = objectKey('ContainerService', 'default', name);
  const hash = problemHash(key, reason);
  return { key, hash, reason, severity, account, sinceMs: since, labels: {}, message: name };
}

/** A Notification whose sink answers as the test says. */
class Bench {
  state: StoredNotification = {};
  now = start;
  open = 0;
  terms = usual;
  troubles: Trouble[] = [];
  events: AnnouncementEvent[] = [];
  /** All that the sink has received, each key once. */
  readonly received: (DueMessage & { readonly hashes: readonly string[] })[] = [];

  pass(): void {
    const { state, open } = nextAnnouncements(this.state, {
      uid: 'uid',
      terms: this.terms,
      troubles: new Map(this.troubles.map((each) => [each.hash, each])),
      events: this.events,
      nowMs: this.now,
    });
    this.events = [];
    this.open = open;
    this.state = JSON.parse(JSON.stringify(state)) as StoredNotification;
  }

  after(ms: number): this {
    this.now += ms;
    this.pass();
    return this;
  }

  /** The sink takes everything that is due. */
  deliver(): string[] {
    const before = this.received.length;
    for (const message of dueMessages(this.state)) {
      this.receive(message);
      this.events.push({ kind: 'delivered', key: message.key, at: this.now });
    }
    this.pass();
    return this.received.slice(before).map(({ type }) => type);
  }

  receive(message: DueMessage): void {
    if (this.received.some(({ key }) => key === message.key)) return;
    const found = this.state.announcements?.find(({ id }) => id === message.id);
    this.received.push({ ...message, hashes: found?.message?.hashes ?? found?.open ?? [] });
  }

  restart(): void {
    this.events = [];
    this.pass();
  }
}

describe('a problem', () => {
  test('is announced once it has lasted for the time of its severity and 30 s for others', () => {
    const bench = new Bench();
    bench.troubles = [trouble('web', { severity: 'warning' })];
    expect([bench.after(329 * second).deliver(), bench.after(second).deliver()]).toEqual([[], ['opened']]);
  });

  test('that ends before it was announced is announced by nothing', () => {
    const bench = new Bench();
    bench.troubles = [trouble('web')];
    bench.after(29 * second);
    bench.troubles = [];
    expect([bench.after(60 * second).deliver(), bench.open]).toEqual([[], 0]);
  });

  test('that is only information is announced if the document gives a time', () => {
    const bench = new Bench();
    bench.troubles = [trouble('web', { severity: 'info' })];
    bench.after(100 * hour);
    expect(bench.open).toBe(0);
    bench.terms = { ...usual, afterSeconds: 60 };
    expect(bench.after(second).deliver()).toEqual(['opened']);
  });

  test('with another message is not announced again', () => {
    const bench = new Bench();
    bench.troubles = [trouble('web')];
    bench.after(30 * second).deliver();
    bench.troubles = [{ ...trouble('web'), message: 'another attempt failed' }];
    expect(bench.after(hour).deliver()).toEqual([]);
  });

  test('is repeated each `repeatHours`, and ends with one message', () => {
    const bench = new Bench();
    bench.troubles = [trouble('web')];
    const types = [bench.after(30 * second).deliver(), bench.after(23 * hour).deliver()];
    types.push(bench.after(hour).deliver(), bench.after(24 * hour).deliver());
    bench.troubles = [];
    types.push(bench.after(second).deliver(), bench.after(29 * second).deliver());
    types.push(bench.after(second).deliver(), bench.after(48 * hour).deliver());
    expect(types).toEqual([['opened'], [], ['reminder'], ['reminder'], [], [], ['ended'], []]);
    expect(bench.state.announcements).toEqual([]);
  });

  test('that ends while its beginning is under way has its end announced behind it', () => {
    const bench = new Bench();
    bench.troubles = [trouble('web')];
    bench.after(30 * second);
    bench.troubles = [];
    bench.after(second).after(60 * second);
    expect([bench.deliver(), bench.deliver(), bench.open]).toEqual([['opened'], ['ended'], 0]);
  });

  test('is never repeated with `repeatHours: 0`', () => {
    const bench = new Bench();
    bench.terms = { ...usual, repeatHours: 0 };
    bench.troubles = [trouble('web')];
    bench.after(30 * second).deliver();
    expect(bench.after(1000 * hour).deliver()).toEqual([]);
  });

  test('that comes and goes each second has one beginning', () => {
    const bench = new Bench();
    const types: string[] = [];
    for (let at = 0; at < 600; at += 1) {
      bench.troubles = at < 60 || at % 2 === 0 ? [trouble('web', { since: start })] : [];
      types.push(...bench.after(second).deliver());
    }
    expect(types).toEqual(['opened']);
  });

  test('is repeated by no clock that was set back or forward', () => {
    const bench = new Bench();
    bench.troubles = [trouble('web', { since: start - hour })];
    bench.after(30 * second).deliver();
    expect([bench.after(-20 * hour).deliver(), bench.after(20 * hour).deliver()]).toEqual([[], []]);
  });
});

describe('many problems', () => {
  test('of one account with one reason are one message, also after a restart, and so is their end', () => {
    const bench = new Bench();
    bench.troubles = Array.from({ length: 130 }, (_, at) =>
      trouble(`web-${at}`, { since: start + at * 100 }),
    );
    expect(bench.after(30 * second).deliver()).toEqual(['opened']);
    expect(bench.received[0]?.hashes).toHaveLength(130);
    bench.restart();
    expect(bench.after(hour).deliver()).toEqual([]);
    bench.troubles = [];
    bench.pass();
    expect(bench.after(30 * second).deliver()).toEqual(['ended']);
    expect([bench.received[1]?.hashes.length, bench.open]).toEqual([130, 0]);
  });

  test('of several accounts or reasons are several messages', () => {
    const bench = new Bench();
    bench.troubles = [
      trouble('a'),
      trouble('b', { account: 'default/other' }),
      trouble('c', { reason: 'DataLost' }),
    ];
    expect(bench.after(30 * second).deliver()).toHaveLength(3);
  });

  test('beyond `maxPerHour` are a digest each ten minutes, and have their end in a digest', () => {
    const bench = new Bench();
    bench.terms = { ...usual, maxPerHour: 2 };
    bench.troubles = Array.from({ length: 5 }, (_, at) =>
      trouble(`web-${at}`, { account: `default/a${at}` }),
    );
    expect(bench.after(30 * second).deliver()).toEqual(['opened', 'opened']);
    expect([bench.after(599 * second).deliver(), bench.after(second).deliver()]).toEqual([[], ['digest']]);
    bench.troubles = bench.troubles.slice(0, 2);
    bench.pass();
    bench.after(30 * second);
    expect([bench.after(570 * second).deliver(), bench.after(30 * second).deliver()]).toEqual([
      [],
      ['digest'],
    ]);
  });

  test('beyond 500 are counted, and only a digest shows them', () => {
    const bench = new Bench();
    bench.troubles = Array.from({ length: 510 }, (_, at) => trouble(`web-${at}`));
    expect(bench.after(30 * second).deliver()).toEqual(['opened']);
    expect([bench.open, bench.state.announcements?.[0]?.open.length]).toEqual([510, 500]);
    bench.after(600 * second);
    expect(bench.state.digestMessage).toMatchObject({ opened: 0, beyond: 10 });
    expect([bench.deliver(), bench.after(hour).deliver()]).toEqual([['digest'], []]);
  });
});

describe('a message', () => {
  test('whose answer was lost keeps its key over a restart', () => {
    const bench = new Bench();
    bench.troubles = [trouble('web')];
    bench.after(30 * second);
    const [first] = dueMessages(bench.state);
    bench.restart();
    bench.after(hour / 2);
    expect(dueMessages(bench.state)).toEqual([first]);
  });

  test('has the same key when a second leader makes it', () => {
    const [one, other] = [new Bench(), new Bench()];
    for (const bench of [one, other]) bench.troubles = [trouble('web')];
    one.after(30 * second);
    other.after(31 * second);
    expect(dueMessages(one.state).map(({ key }) => key)).toEqual(
      dueMessages(other.state).map(({ key }) => key),
    );
  });

  test('about an end waits until the beginning was accepted, and is not made if that was given up', () => {
    const bench = new Bench();
    bench.troubles = [trouble('web')];
    bench.after(30 * second);
    const [{ key } = { key: '' }] = dueMessages(bench.state);
    bench.troubles = [];
    bench.after(hour);
    expect(dueMessages(bench.state).map(({ type }) => type)).toEqual(['opened']);
    bench.events.push({ kind: 'dropped', key, at: bench.now });
    bench.after(hour);
    expect([dueMessages(bench.state), bench.state.dropped]).toEqual([[], 1]);
  });

  test('about a happening counts for `maxPerHour`, and is made once', () => {
    const bench = new Bench();
    bench.terms = { ...usual, maxPerHour: 1 };
    const what = { reason: 'RolloutComplete', hash: 'h' };
    for (const id of ['a', 'a', 'b']) bench.events.push({ kind: 'happened', id, at: start, ...what });
    bench.pass();
    expect(bench.state.happened).toEqual([{ id: 'a', at: start, ...what }]);
    expect([bench.deliver(), bench.state.digest]).toMatchObject([['happened'], { happened: 1 }]);
  });
});

const step = record({
  what: constantFrom('toggle', 'toggle', 'time', 'time', 'send', 'send', 'lose', 'fail', 'drop', 'restart'),
  which: nat(5),
  ms: constantFrom(second, 10 * second, 31 * second, 10 * 60 * second, 5 * hour, 25 * hour),
});

test(`no end before its beginning, and one announcement in repeatHours, whatever is lost or restarted (SEED=${seed})`, () => {
  assert(
    property(array(step, { maxLength: 120 }), (steps) => {
      const bench = new Bench();
      bench.terms = { repeatHours: 24, maxPerHour: 3 };
      const absences = new Map<string, { from: number; to: number }[]>();
      const all = Array.from({ length: 6 }, (_, at) =>
        trouble(`web-${at}`, { account: `default/a${at % 3}` }),
      );
      for (const { hash } of all) absences.set(hash, [{ from: 0, to: Infinity }]);
      for (const { what, which, ms } of steps) {
        const due = dueMessages(bench.state);
        const message = due[which % Math.max(1, due.length)];
        if (what === 'toggle') toggle(bench, all[which] ?? trouble('none'), absences);
        if (what === 'time') bench.now += ms;
        if (what === 'restart') bench.restart();
        if (message && (what === 'send' || what === 'lose')) bench.receive(message);
        if (message && what === 'send')
          bench.events.push({ kind: 'delivered', key: message.key, at: bench.now });
        if (what === 'fail') bench.events.push({ kind: 'failed', why: 'timeout', at: bench.now });
        if (message && what === 'drop')
          bench.events.push({ kind: 'dropped', key: message.key, at: bench.now });
        bench.pass();
      }
      expectEndsAfterBeginnings(bench);
      for (const { hash } of all) expectFewAnnouncements(bench, hash, absences.get(hash) ?? []);
    }),
    { seed, numRuns: 300 },
  );
});

function toggle(bench: Bench, one: Trouble, absences: Map<string, { from: number; to: number }[]>): void {
  const spans = absences.get(one.hash) ?? [];
  const last = spans.at(-1);
  if (bench.troubles.some(({ hash }) => hash === one.hash)) {
    bench.troubles = bench.troubles.filter(({ hash }) => hash !== one.hash);
    spans.push({ from: bench.now, to: Infinity });
    return;
  }
  bench.troubles = [...bench.troubles, { ...one, sinceMs: bench.now }];
  if (last) last.to = bench.now;
}

function expectEndsAfterBeginnings({ received }: Bench): void {
  for (const [at, { type, id }] of received.entries()) {
    if (type !== 'ended') continue;
    const begun = received.slice(0, at).some((each) => each.id === id && each.type !== 'ended');
    expect(begun).toBe(true);
  }
}

function expectFewAnnouncements(
  { received }: Bench,
  hash: string,
  absences: readonly { readonly from: number; readonly to: number }[],
): void {
  const times = received
    .filter(({ type, hashes }) => (type === 'opened' || type === 'reminder') && hashes.includes(hash))
    .map(({ at }) => at);
  for (const [index, at] of times.entries()) {
    const before = times[index - 1];
    if (before === undefined || at - before >= 24 * hour) continue;
    const wasAway = absences.some(
      ({ from, to }) => from >= before - 30 * second && to <= at && to - from >= 30 * second,
    );
    expect(wasAway).toBe(true);
  }
}
