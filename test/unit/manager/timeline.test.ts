import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Timeline, TimelineFile, type TimelineFileOptions } from '../../../src/manager/index.ts';
import { createMetrics } from '../../../src/telemetry/index.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const key = 'ContainerService/default/web' as const;
type Passed = Parameters<Timeline['passed']>;

/** Only what a timeline reads of a plan. */
function plan(reason?: string): Passed[1] {
  const made = reason === undefined ? { kind: 'in-sync' } : { kind: 'wait', reason, message: 'canary' };
  return { plan: made as unknown as Passed[1]['plan'], removed: false };
}

function intent(idempotencyKey: string, createdAt: number, outcome = 'applied'): NonNullable<Passed[3]> {
  return { idempotencyKey, createdAt, action: 'create-service', outcome: outcome as 'applied' };
}

describe('a pass has a line when something happened in it', () => {
  test('it sent a request, which may be sent again, and its outcome may be known later', async () => {
    const clock = new ManualClock();
    const timeline = new Timeline(clock);
    const at = clock.wallMs();
    expect(timeline.passed(key, plan(), 5, undefined)).toBeUndefined();
    // Of an earlier process.
    expect(timeline.passed(key, plan(), 5, intent('k0', at - 1))).toBeUndefined();
    const sent = timeline.passed(key, plan(), 5.4, intent('k1', at, 'not-sent'));
    expect(sent).toEqual({
      at: '2026-01-01T00:00:00.000Z',
      object: key,
      intent: 'k1',
      attempt: 1,
      action: 'create-service',
      outcome: 'not-sent',
      durationMs: 5,
    });
    expect(timeline.passed(key, plan(), 5, intent('k1', at, 'not-sent'))).toBeUndefined();
    await clock.advance(10);
    expect(timeline.passed(key, plan(), 5, intent('k1', at + 10, 'unknown'))).toMatchObject({ attempt: 2 });
    expect(timeline.passed(key, plan(), 5, intent('k1', at + 10))).toMatchObject({
      attempt: 2,
      outcome: 'applied',
    });
    expect(timeline.passed(key, plan(), 5, intent('k2', at + 11))).toMatchObject({
      intent: 'k2',
      attempt: 1,
    });
  });

  test('it began to wait, waits for something else, and waits no longer', async () => {
    const clock = new ManualClock();
    const timeline = new Timeline(clock);
    const pass = (reason?: string) => timeline.passed(key, plan(reason), 1, undefined);
    expect(pass('VolumeNotReady')).toMatchObject({ waitReason: 'VolumeNotReady' });
    await clock.advance(1500);
    expect(pass('VolumeNotReady')).toBeUndefined();
    const other = pass('BudgetExceeded');
    expect(other).toMatchObject({ waitReason: 'BudgetExceeded', waitedMs: 1500 });
    await clock.advance(10);
    const ended = pass();
    expect(ended).toMatchObject({ waitedMs: 10 });
    expect(ended).not.toHaveProperty('waitReason');
    expect(JSON.stringify([other, ended])).not.toContain('canary');
    expect(pass()).toBeUndefined();
  });
});

describe('the file of a timeline', () => {
  const line = (object: string) => ({
    at: '2026-01-01T00:00:00.000Z',
    object: object as typeof key,
    durationMs: 1,
  });

  async function opened(more: Partial<TimelineFileOptions> = {}) {
    const folder = mkdtempSync(path.join(tmpdir(), 'fleetkeeper-timeline-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = path.join(folder, 'lines', 'timeline.jsonl');
    mkdirSync(path.dirname(file));
    const log: string[] = [];
    const note = (_facts: object, text: string) => void log.push(text);
    const logger = { warn: note, info: note } as unknown as TimelineFileOptions['logger'];
    const metrics = createMetrics();
    const clock = new ManualClock();
    const written = await TimelineFile.open({ file, clock, logger, metrics, ...more });
    const counted = async (outcome: string) =>
      (await metrics.timelineLines.get()).values.find(({ labels }) => labels['outcome'] === outcome)?.value ??
      0;
    const lines = (name = file): string[] =>
      readFileSync(name, 'utf8')
        .split('\n')
        .filter((text) => text !== '')
        .map((text) => JSON.parse(text).object);
    /** All that was added is written, or lost. */
    const add = async (...objects: string[]) => {
      for (const object of objects) written.add(line(object));
      await written.stop();
    };
    return { file, log, written, counted, lines, add };
  }

  test('is for its owner only, also if it was there before', async () => {
    const { file, add, lines, counted } = await opened();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await add('a', 'b');
    rmSync(file);
    writeFileSync(file, '', { mode: 0o644 });
    await add('c');
    expect([lines(), statSync(file).mode & 0o777, await counted('written')]).toEqual([['c'], 0o600, 3]);
  });

  test('has one old file beside it', async () => {
    const { file, add, lines } = await opened({ maxBytes: 150 });
    for (const object of ['a', 'b', 'c', 'd', 'e']) await add(object);
    expect([lines(`${file}.1`), lines()]).toEqual([['c', 'd'], ['e']]);
  });

  test('can not be written for a while: the lines are counted, logged once, and nobody is stopped', async () => {
    const { file, add, lines, counted, log } = await opened();
    renameSync(path.dirname(file), `${path.dirname(file)}.away`);
    await add('a', 'b');
    await add('c');
    mkdirSync(path.dirname(file));
    await add('d');
    expect([lines(), await counted('failed'), await counted('written')]).toEqual([['d'], 3, 1]);
    expect(log).toEqual(['the timeline was not written', 'the timeline is written again']);
  });

  test('of a full disk: what was written half is cut off, so every line is whole', async () => {
    let room = Number.POSITIVE_INFINITY;
    const openFile = (async (...given: Parameters<typeof open>) => {
      const handle = await open(...given);
      const write = handle.write.bind(handle) as (
        bytes: Buffer,
        offset: number,
        length: number,
      ) => Promise<{ bytesWritten: number }>;
      const limited = async (bytes: Buffer, offset: number) => {
        if (room === 0) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
        const length = Math.min(room, bytes.length - offset);
        room -= length;
        return write(bytes, offset, length);
      };
      return Object.assign(handle, { write: limited });
    }) as typeof open;
    const { add, lines, counted } = await opened({ openFile });
    await add('a');
    room = 20;
    await add('b');
    room = Number.POSITIVE_INFINITY;
    await add('c');
    expect([lines(), await counted('failed')]).toEqual([['a', 'c'], 1]);
  });

  test('of a disk that hangs: nobody waits, and lines beyond the bound are dropped and counted', async () => {
    let hangs = false;
    const openFile = ((...given: Parameters<typeof open>) =>
      hangs ? new Promise(() => undefined) : open(...given)) as typeof open;
    const { written, counted } = await opened({ openFile });
    hangs = true;
    for (let count = 0; count < 10_600; count += 1) written.add(line('a'));
    expect(await counted('dropped')).toBe(600);
  });

  test('is never written through a link', async () => {
    const { file, add, counted } = await opened();
    rmSync(file);
    writeFileSync(`${file}.other`, '');
    symlinkSync(`${file}.other`, file);
    await add('a');
    expect([readFileSync(`${file}.other`, 'utf8'), await counted('failed')]).toEqual(['', 1]);
  });

  test('that can not be written at the start is refused, with what to do', async () => {
    const parts = {
      clock: new ManualClock(),
      metrics: createMetrics(),
      logger: { warn: () => undefined, info: () => undefined },
    };
    const options = { ...parts, file: '/nowhere/t' } as unknown as TimelineFileOptions;
    await expect(TimelineFile.open(options)).rejects.toMatchObject({
      remedy: expect.stringContaining('--timeline'),
    });
  });
});
