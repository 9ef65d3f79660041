/** Managers that conclude something else than they should. */
import { ControlApi, Limiter, textOf } from '../../../src/api/index.ts';
import type { DesiredSnapshot } from '../../../src/desired/index.ts';
import { settledStates } from '../../../src/engine/plan/index.ts';
import { Admission } from '../../../src/engine/index.ts';
import { Intake } from '../../../src/engine/admission/intake.ts';
import { AbsenceProofs } from '../../../src/engine/observation/observe.ts';
import { Backoffs } from '../../../src/engine/outcomes/backoffs.ts';
import { Reconciler } from '../../../src/engine/reconciler.ts';
import { byMark, services, type Identify } from './identify.ts';
import { onTheWire, overlaid, replaced, withSpecs, type Mutant } from './tools.ts';

export const decisions: readonly Mutant[] = [
  {
    breaks: 'the settle window is forgotten',
    foundBy: ['S4', 'S1'],
    seed: 107,
    sabotage: (options) => ({ ...options, settleMs: 1 }),
  },
  {
    breaks: 'a source that loses everything is believed',
    foundBy: ['S5', 'S20'],
    sabotage: (options) => ({ ...options, allowMassChange: true }),
  },
  {
    breaks: 'a file that has lost what it said is believed as soon as one that was removed',
    foundBy: ['S20', 'S5'],
    sabotage: (options) => ({ ...options, grace: { goneMs: 0, partlyMs: 0, whollyMs: 0, lostMs: 0 } }),
  },
  {
    breaks: 'a snapshot of the source that waited for its turn is taken in, although a newer one has come',
    foundBy: ['S20', 'S5'],
    crowd: 'small',
    seed: 1340596,
    patch: () =>
      replaced(Intake.prototype, 'accept', (accept) => {
        const turns = new WeakMap<Intake, Promise<void>>();
        return function inTurn(this: Intake, snapshot) {
          const turn = (turns.get(this) ?? Promise.resolve()).then(() => accept.call(this, snapshot));
          turns.set(this, turn);
          return turn;
        };
      }),
  },
  {
    breaks: 'admission examines one change fewer than there are, when several come together',
    foundBy: ['EI2', 'L7'],
    crowd: 'small',
    seed: 32,
    patch: () =>
      replaced(Admission.prototype, 'admit', (admit) => {
        type Objects = DesiredSnapshot['objects'];
        const whole = new WeakMap<Objects, Objects>();
        return function forgetful(this: Admission, snapshot) {
          const objects = overlaid(snapshot.objects, {
            changedSince: (before) => {
              const changed = snapshot.objects.changedSince(whole.get(before) ?? before);
              return changed === 'all' || changed.size < 2 ? changed : new Set([...changed].slice(1));
            },
          });
          whole.set(objects, snapshot.objects);
          return admit.call(this, { ...snapshot, objects });
        };
      }),
  },
  {
    breaks: 'the wall clock is taken for the monotonic one',
    foundBy: ['S4', 'S8', 'L1', 'L2', 'L3', 'L5', 'L6'],
    seed: 32,
    sabotage: (options) => {
      const { clock } = options;
      return { ...options, clock: { ...clock, monotonicMs: () => clock.wallMs() } };
    },
  },
  {
    breaks: 'what one read does not show is taken as gone',
    foundBy: ['S1', 'S13', 'S16'],
    crowd: 'small',
    seed: 20,
    patch: () =>
      replaced(AbsenceProofs.prototype, 'confirm', () => async () => ({ kind: 'absent', confirmed: true })),
  },
  {
    breaks: 'things are taken as ours by their name',
    foundBy: ['S5', 'S1', 'S13'],
    crowd: 'small',
    seed: 67,
    patch: () => {
      const identify: Identify = (view, items, madeId) => {
        const found = [...items.values()].find(({ name }) => name === view.object.name);
        return found
          ? { observation: { kind: 'present', value: found }, found: found.id, byMark: false }
          : byMark(view, items, madeId);
      };
      return replaced(services, 'identify', () => identify);
    },
  },
  {
    breaks: 'a state that nobody knows is taken for a steady one',
    foundBy: ['S6'],
    crowd: 'small',
    seed: 7,
    patch: () => {
      const states = settledStates as Set<string>;
      states.add('migrating');
      return () => void states.delete('migrating');
    },
  },
  {
    breaks: "somebody's running work is not looked for",
    foundBy: ['S5'],
    patch: () =>
      replaced(
        ControlApi.prototype,
        'activities',
        () => () => Promise.resolve({ kind: 'applied', status: 200, value: [] }),
      ),
  },
  {
    breaks: 'what is to be left at the provider is deleted',
    foundBy: ['S5'],
    crowd: 'small',
    seed: 17,
    patch: () =>
      withSpecs((spec, deleting) =>
        deleting && spec.deletionPolicy === 'Retain' ? { ...spec, deletionPolicy: 'Delete' } : spec,
      ),
  },
  {
    breaks: 'a change that leads nowhere is made for ever',
    foundBy: ['S18'],
    crowd: 'small',
    seed: 44,
    // The provider shows another port than it was given.
    sabotage: onTheWire(async (request, next) => {
      const reply = await next();
      return request.method === 'GET' && reply.kind === 'reply'
        ? { ...reply, body: textOf(reply.body).replaceAll('"httpPort":8080', '"httpPort":8081') }
        : reply;
    }),
    patch: () =>
      replaced(
        Backoffs.prototype,
        'find',
        (find): Backoffs['find'] =>
          function forgetful(this: Backoffs, record, step) {
            return find.call(this, { ...record, repeated: undefined }, step);
          },
      ),
  },
  {
    breaks: 'any number of requests may be under way',
    foundBy: ['S19'],
    seed: 2,
    patch: () =>
      replaced(
        Limiter.prototype,
        'configure',
        (configure): Limiter['configure'] =>
          function generous(this: Limiter, options) {
            configure.call(this, { ...options, concurrency: 1000 });
          },
      ),
  },
  {
    breaks: 'what only time will tell is not looked at again',
    foundBy: ['L1', 'L2', 'L3', 'L6'],
    seed: 107,
    patch: () =>
      replaced(
        Reconciler.prototype,
        'pass',
        (pass): Reconciler['pass'] =>
          async function careless(this: Reconciler, ...of) {
            const result = await pass.apply(this, of);
            const isTimed = result.plan.kind === 'wait' && result.wake.kind === 'after';
            return isTimed ? { ...result, wake: { kind: 'never' } } : result;
          },
      ),
  },
  {
    breaks: 'the balance is not looked at',
    foundBy: ['S15'],
    seed: 2,
    patch: () =>
      replaced(
        ControlApi.prototype,
        'account',
        (account): ControlApi['account'] =>
          async function rich(this: ControlApi, signal) {
            const outcome = await account.call(this, signal);
            return outcome.kind === 'applied'
              ? { ...outcome, value: { ...outcome.value, balanceMicros: 1e12 } }
              : outcome;
          },
      ),
  },
];
