import { mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import pino from 'pino';
import { expect, test } from 'vitest';
import { endpointsOf } from '../../../src/kinds/index.ts';
import { EndpointFiles } from '../../../src/manager/index.ts';
import type { ObjectKey } from '../../../src/resources/index.ts';
import { newRecord, type ObjectRecord, type StateStore } from '../../../src/state/index.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { temporaryFile } from '../../support/temporary.ts';

const fleet: ObjectKey = 'ServiceFleet/shop/llm';
const child: ObjectKey = 'ContainerService/shop/llm-0';

function storeWith(endpoint: string | undefined, phase = 'wanted'): StateStore {
  const records = new Map<ObjectKey, ObjectRecord>([
    [
      fleet,
      {
        ...newRecord(fleet, 'uid'),
        kind: { roster: [{ slot: 0, phase, since: 0, place: { account: 'a', region: 'b' } }] },
      },
    ],
    [
      child,
      {
        ...newRecord(child, 'uid-0'),
        externalId: 'id',
        derived: { owner: fleet },
        status: { observedGeneration: 1, conditions: [], ...(endpoint ? { endpoint } : {}) },
      },
    ],
  ]);
  const shown: Pick<StateStore, 'record' | 'revisions'> = {
    record: (key) => records.get(key),
    revisions: () => [],
  };
  return shown as StateStore;
}

const silent = pino({ level: 'silent' });
const folder = () => path.join(path.dirname(temporaryFile('x')), 'endpoints');

test('a file takes the place of the old one as a whole, whatever a killed manager has left', () => {
  const shared = folder();
  const place = path.join(shared, 'shop');
  mkdirSync(place, { recursive: true });
  // Half a file, and a link to somewhere else in the place of the new one.
  const elsewhere = path.join(shared, 'elsewhere');
  writeFileSync(elsewhere, 'of somebody else');
  symlinkSync(elsewhere, path.join(place, '.llm.json.new'));
  const files = new EndpointFiles({
    folder: shared,
    store: storeWith('https://a.example'),
    clock: new ManualClock(),
    logger: silent,
  });
  files.passed(fleet);
  expect(JSON.parse(readFileSync(path.join(place, 'llm.json'), 'utf8'))).toEqual({
    namespace: 'shop',
    name: 'llm',
    endpoints: [{ slot: 0, url: 'https://a.example', ready: false }],
  });
  expect(readFileSync(elsewhere, 'utf8')).toBe('of somebody else');
  expect(readdirSync(place)).toEqual(['llm.json']);
});

test('other objects, and what has not changed, write nothing; a fleet that is gone has no file', () => {
  const shared = folder();
  const parts = { folder: shared, clock: new ManualClock(), logger: silent };
  const files = new EndpointFiles({ ...parts, store: storeWith(undefined) });
  files.passed(child);
  expect(readdirSync(shared)).toEqual([]);
  files.passed(fleet);
  const file = path.join(shared, 'shop', 'llm.json');
  expect(JSON.parse(readFileSync(file, 'utf8')).endpoints).toEqual([]);
  writeFileSync(file, 'kept, because nothing has changed');
  files.passed(fleet);
  expect(readFileSync(file, 'utf8')).toContain('kept');
  const gone = { record: () => undefined, revisions: () => [] } as unknown as StateStore;
  new EndpointFiles({ ...parts, store: gone }).passed(fleet);
  expect(readdirSync(path.join(shared, 'shop'))).toEqual([]);
});

test('a folder that can not be written to is an error at the start', () => {
  const file = temporaryFile('a-file');
  writeFileSync(file, '');
  const parts = { store: storeWith(undefined), clock: new ManualClock(), logger: silent };
  expect(() => new EndpointFiles({ ...parts, folder: file })).toThrow(/can't write to /);
});

test('a replica that drains, or is being deleted, is not among the endpoints any more', () => {
  for (const phase of ['draining', 'retiring'])
    expect(endpointsOf(storeWith('https://a.example', phase), fleet, 0)).toEqual([]);
  expect(endpointsOf(storeWith('https://a.example'), fleet, 0)).toHaveLength(1);
});
