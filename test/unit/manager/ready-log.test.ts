import { expect, test } from 'vitest';
import { ReadyLog } from '../../../src/manager/ready-log.ts';
import type { Condition } from '../../../src/resources/index.ts';
import type { ObjectRecord } from '../../../src/state/index.ts';
import { createLogger } from '../../../src/telemetry/index.ts';

const key = 'ContainerService/default/web';

type Conditions = readonly Condition[] | undefined;

/** `recorded`: by the process before this one. */
function world(recorded?: Conditions) {
  const lines: string[] = [];
  const write = (line: string) => {
    const { level, object, ready = '-', reason, message, msg } = JSON.parse(line) as Record<string, string>;
    expect(object).toBe(key);
    lines.push(`${level} ${msg} ${ready} ${reason}: ${message}`);
  };
  let current = recorded;
  let duplicates: readonly { readonly id: string }[] | undefined;
  const record = () =>
    current && ({ key, status: { conditions: current, duplicates } } as unknown as ObjectRecord);
  const store = { record, everyKey: () => [key] as const };
  const log = new ReadyLog({ store, logger: createLogger('info', { write }) });
  const see = (now: Conditions, others?: readonly string[]) => {
    current = now;
    duplicates = others?.map((id) => ({ id }));
    log.passed(key);
  };
  return { lines, see };
}

function conditions(
  status: Condition['status'],
  reason: string,
  { message = '', held = false } = {},
): Condition[] {
  const rest = { message, lastTransitionTime: '2026-01-01T00:00:00Z', observedGeneration: 1 };
  return [
    { type: 'Ready', status, reason, ...rest },
    { type: 'Stalled', status: held ? 'True' : 'False', reason: held ? reason : 'NotStalled', ...rest },
  ] as Condition[];
}

test('a life has a line for each transition, and none between', () => {
  const { lines, see } = world();
  see(conditions('False', 'Create', { message: 'next: create-service' }));
  see(conditions('False', 'Provisioning'));
  see(conditions('False', 'Provisioning', { message: 'for 10 s' }));
  see(conditions('True', 'Running'));
  see(conditions('True', 'Sleeping'));
  see(conditions('False', 'RemediationBackoff', { message: 'restart 1 of 3' }));
  see(conditions('False', 'ServiceError', { message: 'exit 1', held: true }));
  see(conditions('False', 'ServiceError', { message: 'exit 2', held: true }));
  see(conditions('False', 'Refused', { message: '400', held: true }));
  see(conditions('True', 'Running'));
  see(conditions('Unknown', 'ApiUnreachable', { message: 'ECONNREFUSED' }));
  see(conditions('False', 'Provisioning'));
  expect(lines).toEqual([
    'info not ready False Create: next: create-service',
    'info ready True Running: ',
    'warn not ready False RemediationBackoff: restart 1 of 3',
    'warn held False ServiceError: exit 1',
    'warn held False Refused: 400',
    'info ready True Running: ',
    'warn not ready Unknown ApiUnreachable: ECONNREFUSED',
    'info not ready False Provisioning: ',
  ]);
});

test('an error that a task keeps from its remedy has a line, also while another change waited', () => {
  const { lines, see } = world();
  const waits = (reason: string): Condition[] => [
    ...conditions('False', reason, { message: 'exit 0' }).slice(0, 1),
    { ...(conditions('True', 'Protected')[0] as Condition), type: 'Reconciling' },
  ];
  see(waits('Protected'));
  see(waits('ServiceError'));
  see(waits('ServiceError'));
  expect(lines).toEqual(['info not ready False Protected: exit 0', 'warn held False ServiceError: exit 0']);
});

test.each([
  { was: conditions('True', 'Running'), is: conditions('True', 'Running'), line: undefined },
  {
    was: conditions('False', 'Provisioning'),
    is: conditions('True', 'Running'),
    line: 'info ready True Running: ',
  },
  {
    was: conditions('True', 'Running'),
    is: conditions('False', 'ServiceError', { held: true }),
    line: 'warn held False ServiceError: ',
  },
  {
    was: conditions('False', 'Refused', { held: true }),
    is: conditions('False', 'Refused', { held: true }),
    line: 'warn held False Refused: ',
  },
  {
    was: conditions('False', 'Provisioning'),
    is: conditions('False', 'Provisioning'),
    line: 'info not ready False Provisioning: ',
  },
])(
  'a new process logs what has changed since the last one, and once what is not Ready: $line',
  ({ was, is, line }) => {
    const { lines, see } = world(was);
    see(is);
    see(is);
    expect(lines).toEqual(line === undefined ? [] : [line]);
  },
);

test('what else carries the mark of an object is a line, and one again when that is another thing', () => {
  const { lines, see } = world(conditions('True', 'Running'));
  const duplicated = (message: string) =>
    [
      ...conditions('True', 'Running'),
      { type: 'Duplicated', status: 'True', reason: 'MarkFoundElsewhere', message },
    ] as Condition[];
  see(duplicated('a, starting'), ['a']);
  see(duplicated('a, running'), ['a']);
  see(duplicated('a. b'), ['b', 'a']);
  see(duplicated('a'), ['a']);
  see(conditions('True', 'Running'));
  see(duplicated('a'), ['a']);
  expect(lines).toEqual(
    ['a, starting', 'a. b', 'a'].map((message) => `warn duplicated - MarkFoundElsewhere: ${message}`),
  );
});

test('the wait for the first read of an object is no line', () => {
  const { lines, see } = world(conditions('True', 'Running'));
  see(conditions('False', 'AwaitingObservation'));
  see(conditions('True', 'Running'));
  expect(lines).toEqual([]);
  see(conditions('False', 'Paused'));
  expect(lines).toEqual(['warn not ready False Paused: ']);
});

test('an object that is deleted and created again has its own lines', () => {
  const { lines, see } = world();
  see(conditions('False', 'Create'));
  see(undefined);
  see(conditions('False', 'Create'));
  expect(lines).toHaveLength(2);
});
