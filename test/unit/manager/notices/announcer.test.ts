import { expect, test } from 'vitest';
import { pino } from 'pino';
import { systemRandom } from '../../../../src/base/index.ts';
import { Announcer, type AnnouncerOptions } from '../../../../src/manager/notices/announcer.ts';
import { objectKey, type ObjectKey } from '../../../../src/resources/index.ts';
import { newRecord, type ObjectRecord } from '../../../../src/state/index.ts';
import { createMetrics } from '../../../../src/telemetry/index.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

function held(
  kind: 'ContainerService' | 'StorageVolume',
  namespace: string,
  name: string,
  labels = {},
): ObjectRecord {
  const record = newRecord(objectKey(kind, namespace, name), name);
  const condition = {
    type: 'Stalled',
    status: 'True',
    reason: 'DataLost',
    message: 'a message',
    lastTransitionTime: '2026-01-01T00:00:00Z',
    observedGeneration: 1,
  } as const;
  return {
    ...record,
    manifest: { ...record.manifest, labels, spec: {} },
    status: { observedGeneration: 1, conditions: [condition] },
  };
}

function notification(namespace: string, name: string, match: object = {}): ObjectRecord {
  const record = newRecord(objectKey('Notification', namespace, name), name);
  const url = { secretKeyRef: { name: 'a', key: 'url' } };
  const spec = { sink: { webhook: { urlFrom: url } }, match, repeatHours: 24, maxPerHour: 30 };
  return { ...record, manifest: { ...record.manifest, spec } };
}

const objects = [
  held('ContainerService', 'shop', 'web', { team: 'a' }),
  held('StorageVolume', 'shop', 'data'),
  held('ContainerService', 'lab', 'trainer'),
  held('ContainerService', 'system', 'own'),
];

function announcerOf(
  records: readonly ObjectRecord[],
  operatorNamespace: string | undefined,
  metrics = createMetrics(),
  more: Partial<AnnouncerOptions> = {},
): Announcer {
  const byKey = new Map(records.map((record) => [record.key, record]));
  const store = {
    listen: () => {},
    everyKey: () => byKey.keys(),
    record: (key: ObjectKey) => byKey.get(key),
    recordsOfKind: (kind: string) => records.filter(({ key }) => key.startsWith(`${kind}/`)),
  };
  const announcer = new Announcer({
    allowLoopback: false,
    allowPrivate: false,
    pageUrl: undefined,
    createSinkTransport: () => ({
      post: () => Promise.resolve({ kind: 'answered', status: 200 }),
      close: () => Promise.resolve(),
    }),
    ...(operatorNamespace === undefined ? {} : { operatorNamespace }),
    store: store as never,
    snapshot: () => undefined,
    impairments: () => 0,
    recheck: () => {},
    clock: new ManualClock(),
    random: systemRandom,
    logger: pino({ level: 'silent' }),
    metrics,
    ...more,
  });
  announcer.start();
  return announcer;
}

test.each([
  ['in a folder, its own namespace', undefined, 'shop', {}, ['web', 'data']],
  [
    'in a folder, others that it names',
    undefined,
    'shop',
    { namespaces: ['lab', 'system'] },
    ['trainer', 'own'],
  ],
  ['in a cluster, its own namespace', 'system', 'shop', {}, ['web', 'data']],
  ['in a cluster, no other that it names', 'system', 'shop', { namespaces: ['lab'] }, []],
  [
    'in a cluster, its own beside others that it names',
    'system',
    'shop',
    { namespaces: ['lab', 'shop'] },
    ['web', 'data'],
  ],
  ['in the namespace of the operator, its own', 'system', 'system', {}, ['own']],
  [
    'in the namespace of the operator, others that it names',
    'system',
    'system',
    { namespaces: ['lab', 'shop'] },
    ['web', 'data', 'trainer'],
  ],
  ['by kind', undefined, 'shop', { kinds: ['StorageVolume'] }, ['data']],
  ['by label', undefined, 'shop', { labels: { matchLabels: { team: 'a' } } }, ['web']],
  ['by reason', undefined, 'shop', { reasons: ['ServiceError'] }, []],
  ['by severity', undefined, 'shop', { severities: ['warning'] }, []],
] as const)('a Notification learns of %s', (_what, operator, namespace, match, expected) => {
  const one = notification(namespace, 'on-call', match);
  const view = announcerOf([...objects, one], operator).of(one.key);
  const names = Array.from(view?.troubles.values() ?? [], ({ key }) => key.split('/')[2]);
  expect(new Set(names)).toEqual(new Set(expected));
  const isTooMuch = operator !== undefined && operator !== namespace && 'namespaces' in match;
  expect(view?.seesTooMuch).toBe(isTooMuch);
});

test('the youngest ones of more than 20 in a namespace announce nothing', () => {
  const all = Array.from({ length: 22 }, (_, at) => ({
    ...notification('shop', `n${String(at).padStart(2, '0')}`),
    createdAt: at,
  }));
  const announcer = announcerOf([...all.toReversed(), notification('lab', 'other')], undefined);
  const crowded = all.filter(({ key }) => announcer.of(key)?.isCrowded).map(({ uid }) => uid);
  expect(crowded).toEqual(['n20', 'n21']);
});

test('mistakes in documents that are none of an object, and what impairs the manager, are counted as the read API has them', async () => {
  const metrics = createMetrics();
  const known = objects[0]?.key;
  const problems = [{ key: undefined }, { key: 'ContainerService/shop/other' }, { key: known }];
  announcerOf(objects, undefined, metrics, {
    snapshot: () => ({ problems }) as never,
    impairments: () => 1,
  }).setMetrics();
  const text = await metrics.registry.metrics();
  expect(text).toContain('fleetkeeper_problems_open{severity="critical"} 5');
  expect(text).toContain('fleetkeeper_problems_open{severity="warning"} 2');
});

test('what is open is counted without a Notification', async () => {
  const metrics = createMetrics();
  announcerOf(objects, undefined, metrics).setMetrics();
  expect(await metrics.registry.metrics()).toContain('fleetkeeper_problems_open{severity="critical"} 4');
});
