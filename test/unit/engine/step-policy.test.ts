/** How the engine asks the rules of `--policy`, and reports what they warn of. */
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { restartService, stopService } from '../../../src/actions/index.ts';
import {
  PolicyGate,
  deniedHold,
  policySubject,
  type PolicyVerdict,
} from '../../../src/engine/step-policy.ts';
import { waitFor, type Act, type Cost, type Step } from '../../../src/engine/plan/index.ts';
import { createMetrics } from '../../../src/telemetry/index.ts';
import { aRecord, serviceId, serviceKey } from '../../support/plan.ts';

const step = (action: Step['action'], more: Partial<Step> = {}): Step => ({
  action,
  reason: 'SpecChanged',
  disruptive: true,
  differences: [{ path: 'image', desired: 'a:2', observed: 'a:1', drift: false }],
  ...more,
});

const act: Act = {
  kind: 'act',
  step: step(stopService({ id: serviceId })),
  later: [step(restartService({ id: serviceId }))],
  differences: [],
};

const noCost = () => undefined;
const allow: PolicyVerdict = { outcome: 'allow', denied: [], warnings: [] };
const deny: PolicyVerdict = { outcome: 'deny', denied: [{ rule: 'r', message: 'no' }], warnings: [] };
const warn: PolicyVerdict = { outcome: 'warn', denied: [], warnings: [{ rule: 'r', message: 'careful' }] };

function gateOf(verdict: () => PolicyVerdict) {
  const lines: string[] = [];
  const logger = pino({}, { write: (line: string) => void lines.push(line) });
  const gate = new PolicyGate({ policy: { judge: verdict }, logger, metrics: createMetrics() });
  return { gate, lines };
}

test('what was allowed while it waited for its turn is not sent once the rules deny it', () => {
  let verdict = allow;
  const { gate } = gateOf(() => verdict);
  const record = aRecord(serviceKey);
  expect(gate.obstacle(record, act, noCost)).toBeUndefined();
  expect(gate.stillAllows(record, act, noCost)).toBe(true);
  verdict = deny;
  expect(gate.stillAllows(record, act, noCost)).toBe(false);
  expect(gate.obstacle(record, act, noCost)).toMatchObject({ kind: 'hold', reason: 'PolicyDenied' });
});

test('a warning is reported when its step is sent, once, and not while the step waits for something else', () => {
  const { gate, lines } = gateOf(() => warn);
  const record = aRecord(serviceKey);
  gate.obstacle(record, act, noCost);
  gate.obstacle(record, act, noCost);
  expect([lines, gate.news(serviceKey)]).toEqual([[], []]);
  gate.sends(serviceKey);
  gate.sends(serviceKey);
  expect(lines).toHaveLength(1);
  expect(gate.news(serviceKey)).toEqual([{ reason: 'PolicyWarning', message: 'r: careful' }]);
  expect(gate.news(serviceKey)).toEqual([]);
});

test('rules see all steps of a plan at once, so none is denied after another one was done', () => {
  const subject = policySubject(aRecord(serviceKey), act);
  expect(subject?.steps.map(({ action }) => action)).toEqual(['stop-service', 'restart-service']);
});

test('the cost of several steps is from before the first one to after the last one', () => {
  const costs = [
    { beforeMicros: 10n, afterMicros: 4n, basis: 'observed', unknown: [] },
    { beforeMicros: 4n, afterMicros: 9n, basis: 'catalog', unknown: [] },
  ] satisfies Cost[];
  const subject = policySubject(
    aRecord(serviceKey),
    act,
    ({ action }) => costs[action.do === 'stop-service' ? 0 : 1],
  );
  expect(subject?.cost).toMatchObject({ beforeMicros: 10n, afterMicros: 9n });
});

test('rules are not asked where nothing would be sent', () => {
  const record = aRecord(serviceKey);
  expect(
    policySubject(record, { kind: 'in-sync', differences: [], recheckAfterMs: undefined }),
  ).toBeUndefined();
  expect(policySubject(record, waitFor('Provisioning', 'x'))).toBeUndefined();
});

test('a deletion that is denied stays accepted, as its message states', () => {
  const subject = policySubject(aRecord(serviceKey, { deletionRequestedAt: 1 }), act);
  if (!subject) throw new Error('nothing is to be judged');
  expect(deniedHold(subject, deny, act)).toMatchObject({
    reason: 'PolicyDenied',
    message: expect.stringContaining('its deletion is accepted, and waits'),
    steps: [act.step, ...act.later],
  });
});
