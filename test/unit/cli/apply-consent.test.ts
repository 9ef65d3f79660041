/** What `apply` may do beside what its plan has shown. */
import { describe, expect, test } from 'vitest';
import { deleteService, startService, stopService, type Action } from '../../../src/actions/index.ts';
import { applyConsent } from '../../../src/cli/change/apply-consent.ts';
import {
  inSync,
  waitFor,
  type Plan,
  type RosterMoves,
  type RosterPlan,
  type Step,
} from '../../../src/engine/plan/index.ts';
import type { Change, Held, Unclear } from '../../../src/manager/index.ts';
import { objectKey } from '../../../src/resources/index.ts';
import { newRecord } from '../../../src/state/index.ts';

const web = objectKey('ContainerService', 'default', 'web');
const replica = objectKey('ContainerService', 'default', 'llm-0');
const llm = objectKey('ServiceFleet', 'default', 'llm');
const id = 'a service';

interface Shown {
  readonly changes?: readonly Change[];
  readonly held?: readonly Held[];
  readonly unclear?: readonly Unclear[];
  readonly isCostLimited?: boolean;
  /** Of the fleet. */
  readonly fleet?: Plan;
  /** What was there when the plan was made. */
  readonly there?: readonly string[];
}

function consent({
  changes = [],
  held = [],
  unclear = [],
  isCostLimited = false,
  fleet = inSync(),
  there = [id],
}: Shown) {
  const records = there.map((externalId) => ({ ...newRecord(web, 'u'), externalId }));
  const store = { records: () => records.values() };
  const results = new Map([[llm, { plan: fleet }]]);
  return applyConsent({ plan: { changes, held, unclear }, results, store, isCostLimited });
}

function refusal(shown: Shown, action: Action, key = web): string | undefined {
  const derived = key === replica ? { owner: llm, manifest: {} } : undefined;
  const record = { ...newRecord(key, 'u'), externalId: id, ...(derived ? { derived } : {}) };
  const step: Step = { action, reason: 'Deleted', disruptive: true, differences: [] };
  return consent(shown).refusesStep({ key, step, record, object: undefined, value: undefined });
}

const named = (kind: string, name: string) => ({ kind, namespace: 'default', name });
const about = { reason: 'Deleted', drift: false, differences: [] } as const;
const change = (action: Change['action'], name = 'web', kind = 'ContainerService'): Change => ({
  ...named(kind, name),
  ...about,
  action,
});

describe('a removal', () => {
  const removal = deleteService({ id });

  test.each(['delete', 'replace', 'leave'] as const)('that the plan has, as %s, is done', (action) => {
    expect(refusal({ changes: [change(action)] }, removal)).toBeUndefined();
  });

  test('that the plan shows as waiting is done', () => {
    const held: Held = { ...named('ContainerService', 'web'), ...about, message: '', actions: ['delete'] };
    expect(refusal({ held: [held] }, removal)).toBeUndefined();
    const other: Held = { ...held, actions: ['update'] };
    expect(refusal({ held: [other] }, removal)).toContain('did not show');
  });

  test('of which the plan waits to know what follows is done', () => {
    const region = { path: 'region', desired: 'a', observed: 'b' };
    const held: Held = {
      ...named('ContainerService', 'web'),
      reason: 'Provisioning',
      message: '',
      actions: [],
      drift: false,
      differences: [region],
    };
    expect(refusal({ held: [held] }, removal)).toBeUndefined();
  });

  test('of what the plan knows nothing about is done, since that was shown', () => {
    const unclear: Unclear = {
      ...named('ContainerService', 'web'),
      reason: 'OutcomeUnknown',
      message: '',
    };
    expect(refusal({ unclear: [unclear] }, removal)).toBeUndefined();
  });

  test('of which the plan shows another change, or nothing, is refused', () => {
    expect(refusal({ changes: [change('update')] }, removal)).toContain('did not show');
    expect(refusal({ changes: [change('delete', 'other')] }, removal)).toContain('did not show');
    expect(refusal({}, removal)).toContain('did not show');
  });

  test('of what was made since is done', () => {
    expect(refusal({ there: ['another service'] }, removal)).toBeUndefined();
  });

  test('of a replica is done if the plan has an entry of its fleet', () => {
    expect(refusal({}, removal, replica)).toContain('did not show');
    expect(refusal({ changes: [change('scale', 'llm', 'ServiceFleet')] }, removal, replica)).toBeUndefined();
  });
});

test('a stop takes nothing away, so no plan has to show it', () => {
  expect(refusal({ isCostLimited: true }, stopService({ id }))).toBeUndefined();
});

test('what may cost more has to be shown where there is a limit', () => {
  const start = startService({ id });
  expect(refusal({}, start)).toBeUndefined();
  expect(refusal({ isCostLimited: true }, start)).toContain('--max-cost-increase');
  expect(refusal({ isCostLimited: true, changes: [change('start')] }, start)).toBeUndefined();
});

describe('a fleet without an entry', () => {
  const content = { id: '', content: {}, values: undefined };
  const refusesRoster = (moves: Partial<RosterMoves>, shown: Shown = {}) => {
    const roster: RosterPlan = {
      replicas: 1,
      content,
      fallback: undefined,
      add: 0,
      update: 0,
      repair: 0,
      drain: 0,
      leaves: false,
      command: undefined,
      moves: { wanted: 1, added: [], updated: [], corrected: [], leaving: [], ...moves },
    };
    return consent(shown).refusesRoster(llm, roster);
  };

  test('loses none of its replicas, whatever the cause', () => {
    const leaving = [{ cause: 'repair', unmade: false }] as const;
    expect(refusesRoster({ leaving })).toContain('1 of its replicas would leave (repair)');
    expect(refusesRoster({ leaving: [{ cause: 'repair', unmade: true }] })).toBeUndefined();
    const changes = [change('update', 'llm', 'ServiceFleet')];
    expect(refusesRoster({ leaving }, { changes })).toBeUndefined();
  });

  test('that was under way when the plan was made continues', () => {
    const leaving = [{ cause: 'placement', unmade: false }] as const;
    const fleet = waitFor('ReplicasLeaving', 'one drains');
    expect(refusesRoster({ leaving }, { fleet })).toBeUndefined();
    expect(refusal({ fleet }, deleteService({ id }), replica)).toBeUndefined();
  });

  test('gets more replicas only where there is no limit of the cost', () => {
    expect(refusesRoster({ added: [content] })).toBeUndefined();
    expect(refusesRoster({ added: [content] }, { isCostLimited: true })).toContain('1 more replicas');
  });
});
