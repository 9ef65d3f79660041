/** What the source showed some time ago, when it is only now that it can be taken in: what is back by then was never gone. */
import { expect, test } from 'vitest';
import type { DesiredSnapshot } from '../../../src/desired/index.ts';
import { MemoryStore, type ObjectRecord } from '../../../src/state/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import { settle } from '../../support/manual-clock.ts';
import {
  access,
  knownService,
  scriptedFleet,
  shownService,
  stateIdentity,
  web,
  type ScriptedFleet,
} from '../../support/scripted-fleet.ts';

/** A file is taken for what people want when it has been so short for a minute. */
const partlyMs = 60_000;

const other = (command: string) => serviceDocument('other', [`command: [${command}]`]);
const config = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: before}\n';
const whole = (command = 'one') =>
  desiredOf({
    ...access,
    'other.yaml': other(command),
    'web.yaml': `${config}---\n${serviceDocument('web')}`,
  });
const short = (command = 'one') => desiredOf({ ...access, 'other.yaml': other(command), 'web.yaml': config });

/** What is saved is durable when the disk answers. Keeps in mind what was ever marked for deletion. */
class HungStore extends MemoryStore {
  disk: Promise<void> = Promise.resolve();
  readonly marked = new Set<string>();

  override async saveAll(records: readonly ObjectRecord[]): Promise<void> {
    for (const { key, deletionRequestedAt } of records)
      if (deletionRequestedAt !== undefined) this.marked.add(key);
    await super.saveAll(records);
    await this.disk;
  }
}

async function fleetOf(
  readNow?: () => Promise<DesiredSnapshot>,
): Promise<ScriptedFleet & { readonly disk: HungStore }> {
  const disk = new HungStore(stateIdentity, [knownService()], []);
  const fleet = await scriptedFleet(whole(), {
    store: disk,
    ...(readNow ? { readNow } : {}),
    prepare: (api) => {
      api.services = [shownService()];
    },
  });
  await fleet.clock.advance(1000);
  return { ...fleet, disk };
}

/** Until `answer` is called nothing becomes durable. */
function hang(store: HungStore): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  store.disk = promise;
  return () => {
    store.disk = Promise.resolve();
    resolve();
  };
}

test('a snapshot that waited for the disk is passed over when a newer one has come', async () => {
  const { clock, disk, tell, manager } = await fleetOf();
  tell(short());
  await settle();
  const answer = hang(disk);
  tell(short('two'));
  await settle();
  tell(short('three'));
  await clock.advance(5000);
  tell(whole('four'));
  await clock.advance(partlyMs);
  answer();
  await settle();
  expect([...disk.marked]).toEqual([]);
  await clock.advance(2 * partlyMs);
  expect([...disk.marked]).toEqual([]);
  expect(disk.record('ContainerService/default/other')?.manifest.spec).toMatchObject({ command: ['four'] });
  await manager.stop();
});

test('one that is passed over counts all the same: what it shows is waited for anew when it is lost again', async () => {
  const { clock, disk, tell, manager } = await fleetOf();
  tell(short());
  await settle();
  const answer = hang(disk);
  tell(short('two'));
  await clock.advance(partlyMs - 2000);
  tell(whole('two'));
  await clock.advance(1000);
  tell(short('three'));
  await clock.advance(3000);
  answer();
  await clock.advance(partlyMs - 4000);
  expect([...disk.marked]).toEqual([]);
  await clock.advance(4000);
  expect([...disk.marked]).toEqual([web]);
  await manager.stop();
});

test('a process that was stopped for a while reads its source again before it takes anything as gone', async () => {
  let read = 0;
  // The file was whole again while nobody looked.
  const { clock, disk, tell, manager } = await fleetOf(async () => {
    read += 1;
    return { ...whole(), readAtMs: clock.monotonicMs() };
  });
  tell({ ...short(), readAtMs: clock.monotonicMs() });
  await clock.advance(2 * partlyMs);
  expect(read).toBe(1);
  expect([...disk.marked]).toEqual([]);
  await manager.stop();
});

test('what it reads then is believed', async () => {
  const { clock, disk, tell, manager } = await fleetOf(async () => ({
    ...short(),
    readAtMs: clock.monotonicMs(),
  }));
  tell({ ...short(), readAtMs: clock.monotonicMs() });
  await clock.advance(partlyMs - 1);
  expect([...disk.marked]).toEqual([]);
  await clock.advance(1000);
  expect([...disk.marked]).toEqual([web]);
  await manager.stop();
});

test('a source that can not be read then is tried again, and nothing is taken as gone meanwhile', async () => {
  let isReadable = false;
  const { clock, disk, tell, manager } = await fleetOf(async () => {
    if (!isReadable) throw new Error('too many open files');
    return { ...short(), readAtMs: clock.monotonicMs() };
  });
  tell({ ...short(), readAtMs: clock.monotonicMs() });
  await clock.advance(2 * partlyMs);
  expect([...disk.marked]).toEqual([]);
  isReadable = true;
  await clock.advance(5 * partlyMs);
  expect([...disk.marked]).toEqual([web]);
  await manager.stop();
});
