/**
 * Managers that break one rule of safety each. The rule is broken from outside, by what is handed to the manager or by another
 * method in place of one of its own while a run lasts; the product has no switch for it. The simulation has to find each of them.
 */
import { ControlApi, type HttpReply, type HttpRequest, type Transport } from '../../src/api/index.ts';
import type { Clock } from '../../src/base/index.ts';
import type { ManagerOptions } from '../../src/manager/index.ts';
import type { Intent, ObjectRecord, StateStore } from '../../src/state/index.ts';
import { Absences } from '../../src/reconcile/observe.ts';
import { settledStates } from '../../src/plan/service-states.ts';
import type { Disk } from './disk.ts';
import { ServicePass } from '../../src/reconcile/service-pass.ts';
import type { Sabotage } from './folder-place.ts';
import type { Json } from './watch.ts';

export interface Mutant {
  readonly breaks: string;
  /** The invariants that may tell of it. */
  readonly foundBy: readonly string[];
  /** Is tried first: it is known to find it. */
  readonly seed?: number;
  readonly sabotage?: Sabotage;
  /** Changes the product for as long as a run lasts; returns how to undo it. */
  readonly patch?: () => () => void;
}

type Exchange = (
  request: HttpRequest,
  next: () => Promise<HttpReply>,
  send: Transport['exchange'],
) => Promise<HttpReply>;

/** Whatever the manager sends goes through `exchange`. */
function onTheWire(exchange: Exchange): Sabotage {
  return (options) => ({
    ...options,
    createTransport: (clock: Clock) => {
      const real = options.createTransport?.(clock);
      if (!real) throw new Error('the simulation has its own network');
      return {
        ...real,
        exchange: (request, signal) =>
          exchange(
            request,
            () => real.exchange(request, signal),
            (other) => real.exchange(other, signal),
          ),
      };
    },
  });
}

/** The store with some of its methods replaced. */
function withStore(change: (store: StateStore) => Partial<StateStore>): Sabotage {
  return (options) => {
    const { store } = options;
    const changed = change(store);
    const proxy = new Proxy(store, {
      get: (target, name) => {
        const own: unknown = Reflect.get(changed, name) ?? Reflect.get(target, name, target);
        return typeof own === 'function'
          ? (own as () => unknown).bind(own === Reflect.get(changed, name) ? changed : target)
          : own;
      },
    });
    return { ...options, store: proxy };
  };
}

function replaced<Target extends object, Name extends keyof Target>(
  target: Target,
  name: Name,
  value: Target[Name],
): () => void {
  const before = target[name];
  target[name] = value;
  return () => {
    target[name] = before;
  };
}

const isMutation = ({ method, url }: HttpRequest) => method !== 'GET' && !url.endsWith('/activity');

/** With another body, as JSON. */
function rewritten(request: HttpRequest, change: (body: Json) => void): HttpRequest {
  const body: Json = JSON.parse(request.body ?? '{}');
  change(body);
  return { ...request, body: JSON.stringify(body) };
}

let uuids = 0;
const newUuid = () => `00000000-0000-4000-8000-${String((uuids += 1)).padStart(12, '0')}`;

const wire: readonly Mutant[] = [
  {
    breaks: 'a request that timed out is sent again with a new key',
    foundBy: ['S1', 'S2', 'S4', 'S9'],
    sabotage: onTheWire(async (request, next, send) => {
      const reply = await next();
      if (reply.kind !== 'unknown' || !isMutation(request)) return reply;
      return send({ ...request, headers: { ...request.headers, 'idempotency-key': newUuid() } });
    }),
  },
  {
    breaks: 'a request that timed out is sent again at once, with its key',
    foundBy: ['S4', 'S9'],
    sabotage: onTheWire(async (request, next, send) => {
      const reply = await next();
      return reply.kind === 'unknown' && isMutation(request) ? send(request) : reply;
    }),
  },
  {
    breaks: 'a repetition has its key and another body',
    foundBy: ['S3'],
    seed: 107,
    sabotage: (options, disk) => {
      const sent = new Set<string>();
      return onTheWire((request, next, send) => {
        const key = request.headers['idempotency-key'] ?? '';
        const isRepetition = sent.has(key) && isMutation(request);
        sent.add(key);
        return isRepetition ? send(rewritten(request, (body) => (body.comment = 'again'))) : next();
      })(options, disk);
    },
  },
  {
    breaks: 'Retry-After is not heeded',
    foundBy: ['S8'],
    sabotage: onTheWire(async (_request, next) => {
      const reply = await next();
      return reply.kind === 'reply' && reply.status === 429 ? { ...reply, status: 408 } : reply;
    }),
  },
  {
    breaks: 'of twelve heartbeats one is sent',
    foundBy: ['L5'],
    seed: 173,
    sabotage: (options, disk) => {
      const counts = new Map<string, number>();
      const replies = new Map<string, HttpReply>();
      return onTheWire(async (request, next) => {
        const body = request.body ?? '';
        if (
          request.method !== 'POST' ||
          !request.url.endsWith('/activity') ||
          body.includes('"release":true')
        )
          return next();
        const count = (counts.get(body) ?? 0) + 1;
        counts.set(body, count);
        const before = replies.get(body);
        if (before && count % 12 !== 0) return before;
        const reply = await next();
        if (reply.kind === 'reply' && reply.status === 200) replies.set(body, reply);
        return reply;
      })(options, disk);
    },
  },
  {
    breaks: 'a patch is sent with the revision before the one that was read',
    foundBy: ['S6', 'S7'],
    sabotage: onTheWire((request, next, send) =>
      request.method === 'PATCH' && request.body?.includes('"revision"')
        ? send(rewritten(request, (body) => (body.revision = Math.max(1, body.revision - 1))))
        : next(),
    ),
  },
  {
    breaks: 'a patch of the environment leaves a variable out',
    foundBy: ['S14'],
    sabotage: onTheWire((request, next, send) =>
      request.method === 'PATCH' && request.body?.includes('"MODE"')
        ? send(rewritten(request, (body) => delete body.patch.environment.MODE))
        : next(),
    ),
  },
  {
    breaks: 'a release is followed by one more heartbeat',
    foundBy: ['S16'],
    sabotage: onTheWire(async (request, next, send) => {
      const reply = await next();
      if (request.body?.includes('"release":true')) {
        const beat = rewritten(request, (body) => (body.release = false));
        await send({ ...beat, headers: { ...beat.headers, 'idempotency-key': newUuid() } });
      }
      return reply;
    }),
  },
  {
    breaks: 'a task that goes on is released',
    foundBy: ['S16', 'S2'],
    seed: 104,
    sabotage: onTheWire((request, next, send) =>
      request.url.endsWith('/activity') && request.method === 'POST'
        ? send(rewritten(request, (body) => (body.release = true)))
        : next(),
    ),
  },
];

const storage: readonly Mutant[] = [
  {
    breaks: 'the intent is not written down',
    foundBy: ['S2'],
    sabotage: withStore((store) => ({
      saveIntent: (intent: Intent, record: ObjectRecord) =>
        intent.outcome === 'pending' ? store.save(record) : store.saveIntent(intent, record),
    })),
  },
  {
    breaks: 'a request is sent before its intent is durable',
    foundBy: ['S2'],
    sabotage: withStore((store) => ({
      saveIntent: async (intent: Intent, record: ObjectRecord) => {
        void store.saveIntent(intent, record);
      },
    })),
  },
  {
    breaks: 'where an activity is registered is not written down first',
    foundBy: ['S2', 'S16'],
    seed: 104,
    sabotage: withStore((store) => ({
      save: async (record: ObjectRecord) => {
        const isNews = record.lease && store.record(record.key)?.lease !== record.lease;
        if (isNews) void store.save(record);
        else await store.save(record);
      },
    })),
  },
  {
    breaks: 'a task takes a new activity after a restart',
    foundBy: ['S16'],
    seed: 163,
    sabotage: (options: ManagerOptions, disk: Disk) => {
      for (const record of options.store.records()) {
        if (!record.lease || record.releasedAt !== undefined) continue;
        const changed = { ...record, lease: { ...record.lease, activityId: newUuid() } };
        disk.replace(changed);
        void options.store.save(changed);
      }
      return options;
    },
  },
  {
    breaks: 'an object is forgotten before what it stands for is gone',
    foundBy: ['S13'],
    seed: 107,
    sabotage: withStore((store) => ({
      saveIntent: async (intent: Intent, record: ObjectRecord) => {
        await store.saveIntent(intent, record);
        const isAccepted = intent.action.startsWith('delete-') && intent.outcome === 'applied';
        if (isAccepted && record.deletionRequestedAt !== undefined) await store.remove(record.key);
      },
    })),
  },
  {
    breaks: 'everything is said to be Ready',
    foundBy: ['S12'],
    sabotage: withStore((store) => {
      const ready = (record: ObjectRecord): ObjectRecord => {
        if (!record.status) return record;
        const conditions = record.status.conditions.map((each) =>
          each.type === 'Ready' ? { ...each, status: 'True' as const } : each,
        );
        return { ...record, status: { ...record.status, conditions } };
      };
      return { save: (record: ObjectRecord) => store.save(ready(record)) };
    }),
  },
];

const decisions: readonly Mutant[] = [
  {
    breaks: 'the settle window is forgotten',
    foundBy: ['S4', 'S1'],
    sabotage: (options) => ({ ...options, settleMs: 1 }),
  },
  {
    breaks: 'a source that loses everything is believed',
    foundBy: ['S5', 'S20'],
    sabotage: (options) => ({ ...options, allowMassChange: true }),
  },
  {
    breaks: 'the wall clock is taken for the monotonic one',
    foundBy: ['S4', 'S8', 'L1', 'L2', 'L3'],
    seed: 8,
    sabotage: (options) => {
      const { clock } = options;
      return { ...options, clock: { ...clock, monotonicMs: () => clock.wallMs() } };
    },
  },
  {
    breaks: 'what one read does not show is taken as gone',
    foundBy: ['S1', 'S13', 'S16'],
    seed: 21,
    patch: () => replaced(Absences.prototype, 'confirm', () => ({ kind: 'absent', confirmed: true })),
  },
  {
    breaks: 'things are taken as ours by their name',
    foundBy: ['S5', 'S1', 'S13'],
    seed: 7,
    patch: () => {
      const target = ServicePass.prototype as unknown as { identify: (snapshot: Json) => unknown };
      const original = target.identify;
      return replaced(target, 'identify', function identify(this: ServicePass, snapshot: Json) {
        const [, , name] = this.key.split('/');
        const found = [...snapshot.services.values()].find((service: Json) => service.name === name);
        if (!found) return original.call(this, snapshot);
        return { observation: { kind: 'present', value: found }, found: found.id, byMark: false };
      });
    },
  },
  {
    breaks: 'a state that nobody knows is taken for a steady one',
    foundBy: ['S6'],
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
      replaced(ControlApi.prototype, 'activities', () =>
        Promise.resolve({ kind: 'applied', status: 200, value: [] }),
      ),
  },
  {
    breaks: 'the balance is not looked at',
    foundBy: ['S15'],
    seed: 7,
    patch: () => {
      const api: { account: ControlApi['account'] } = ControlApi.prototype;
      const { account: original } = api;
      return replaced(api, 'account', async function account(this: ControlApi, signal) {
        const outcome = await original.call(this, signal);
        return outcome.kind === 'applied'
          ? { ...outcome, value: { ...outcome.value, balanceMicros: 1e12 } }
          : outcome;
      });
    },
  },
];

export const mutants: readonly Mutant[] = [...wire, ...storage, ...decisions];
