import { describe, expect, test } from 'vitest';
import { restartService } from '../../../../src/actions/index.ts';
import {
  heldByOwner,
  holdFor,
  inSync,
  waitFor,
  type Act,
  type Plan,
  type Step,
} from '../../../../src/engine/plan/index.ts';
import type { OwnerGate } from '../../../../src/resources/index.ts';

const differences = [{ path: 'image', desired: 'a:1', observed: 'a:2', drift: true }];
const step: Step = { action: restartService({ id: 's-1' }), reason: 'Drift', disruptive: true, differences };
const act = (more: Partial<Step> = {}): Act => ({
  kind: 'act',
  step: { ...step, ...more },
  later: [],
  differences,
});
const present = { kind: 'present', value: {} } as const;
const gate = (correction: 'asked' | 'allowed'): OwnerGate => ({
  reason: 'AwaitsTurn',
  message: 'the fleet decides',
  since: 0,
  correction,
});
const kept = waitFor('Protected', 'restart waits for the activity "epoch"', { steps: [step], differences });

describe('a correction of drift that the owner has to allow', () => {
  test('waits if it would interrupt', () => {
    expect(heldByOwner(act(), present, gate('asked'))).toMatchObject({
      kind: 'wait',
      reason: 'AwaitsTurn',
      message: 'the fleet decides',
      steps: [step],
      differences,
    });
    expect(heldByOwner(act(), present, gate('allowed'))).toEqual(act());
  });

  const left: readonly (readonly [string, Plan])[] = [
    ['one that interrupts nothing', act({ disruptive: false })],
    ['a restart by remediation', act({ reason: 'Remediation' })],
    ['nothing to be done', inSync(differences)],
    ['a hold', holdFor('MassDrift', 'so many', { differences })],
    ['another wait', waitFor('Provisioning', 'it starts', { differences })],
  ];
  test.each(left)('%s is as it is', (_name, plan) => {
    expect(heldByOwner(plan, present, gate('asked'))).toEqual(plan);
    expect(heldByOwner(plan, present, gate('allowed'))).toEqual(plan);
  });

  test.each(['asked', 'allowed'] as const)(
    '%s, and work in the way: the object stays in use',
    (correction) => {
      expect(heldByOwner(kept, present, gate(correction))).toMatchObject({
        reason: 'AwaitsTurn',
        message: 'restart waits for the activity "epoch"',
      });
      const outside = waitFor('OutsideWindow', 'restart waits for a window', { steps: [step], differences });
      expect(heldByOwner(outside, present, gate(correction))).toMatchObject({ reason: 'AwaitsTurn' });
    },
  );

  test('one that is allowed and blocked is checked as often as other protected ones', () => {
    expect(heldByOwner(kept, present, gate('allowed'))).toMatchObject({ recheckAfterMs: 15_000 });
  });
});

describe('a restart that was asked for', () => {
  const asked = { ...act({ reason: 'RestartRequested' }), differences: [] };
  const turn: OwnerGate = { reason: 'AwaitsTurn', message: 'later', since: 0 };

  test('waits for its turn, although nothing at the provider differs', () => {
    const held = heldByOwner(asked, present, turn);
    expect(held).toMatchObject({ kind: 'wait', reason: 'AwaitsTurn', differences });
  });

  test('by remediation it does not', () => {
    const restart = { ...asked, step: { ...step, reason: 'Remediation' as const } };
    expect(heldByOwner(restart, present, turn)).toBe(restart);
  });
});
