/** Gathers who asked for a step of an object, for `whyOf`. */
import { boundedWhy, type Why } from '../state/index.ts';
import { parseObjectKey, type ObjectKey } from '../resources/index.ts';
import { whyOf, type Step } from './plan/index.ts';
import type { ReconcilerOptions } from './reconciler-options.ts';

type Known = Pick<ReconcilerOptions, 'fleet' | 'guard' | 'kinds' | 'money' | 'store'>;

export function whyItIsSent(known: Known, key: ObjectKey, step: Step, restartToken: string | undefined): Why {
  const { guard, money } = known;
  const budget = money.shedFor(key)?.budget;
  const owner = ofOwner(known, key, step);
  return boundedWhy(whyOf(step, { owner, budget, restartToken, planFile: guard?.planFile }));
}

/** The owner has a record as long as anything of it is there. */
function ofOwner({ fleet, kinds, store }: Known, key: ObjectKey, { action }: Step) {
  const owner = fleet.snapshot.objects.get(key)?.derived?.owner ?? store.record(key)?.derived?.owner;
  const record = owner === undefined ? undefined : store.record(owner);
  if (owner === undefined || !record) return undefined;
  const { kind, name } = parseObjectKey(owner);
  return kinds[kind].asks?.({ name, state: record.kind }, parseObjectKey(key).name, action.do);
}
