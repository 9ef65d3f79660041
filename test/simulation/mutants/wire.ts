/** Managers whose requests are other ones than they should be. */
import type { HttpReply } from '../../../src/api/index.ts';
import type { Sabotage } from '../folder-place.ts';
import { ourKey } from '../plane.ts';
import { isHeartbeat, isMutation, newUuid, onTheWire, rewritten, type Mutant } from './tools.ts';

/** Those heartbeats of each task are sent, counted from 1; to the others the answer is the one before. */
function withHeartbeats(isSent: (count: number) => boolean): Sabotage {
  return (options, disk) => {
    const counts = new Map<string, number>();
    const replies = new Map<string, HttpReply>();
    return onTheWire(async (request, next) => {
      const body = request.body ?? '';
      if (!isHeartbeat(request)) return next();
      const count = (counts.get(body) ?? 0) + 1;
      counts.set(body, count);
      const before = replies.get(body);
      if (before && !isSent(count)) return before;
      const reply = await next();
      if (reply.kind === 'reply' && reply.status === 200) replies.set(body, reply);
      return reply;
    })(options, disk);
  };
}

export const wire: readonly Mutant[] = [
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
    crowd: 'small',
    seed: 9,
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
    seed: 22,
    sabotage: withHeartbeats((count) => count === 1 || count % 12 === 0),
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
    breaks: 'a patch of the environment has another value',
    foundBy: ['S14'],
    seed: 107,
    sabotage: onTheWire((request, next, send) =>
      request.method === 'PATCH' && request.body?.includes('"MODE"')
        ? send(rewritten(request, (body) => (body.patch.environment.MODE = 'another')))
        : next(),
    ),
  },
  {
    breaks: 'no heartbeat follows the second one',
    foundBy: ['L5'],
    seed: 3,
    sabotage: withHeartbeats((count) => count <= 2),
  },
  {
    breaks: 'the key of the account goes where it is not asked for',
    foundBy: ['S11'],
    sabotage: onTheWire((request, next, send) =>
      request.url.endsWith('/api/catalog')
        ? send({ ...request, headers: { ...request.headers, authorization: `Bearer ${ourKey}` } })
        : next(),
    ),
  },
  {
    breaks: 'a request that is given up after it has left is taken for one that was never sent',
    foundBy: ['S11'],
    crowd: 'small',
    seed: 1343787,
    sabotage: onTheWire(async (_request, next, _send, signal) => {
      const reply = await next();
      return signal?.aborted ? { kind: 'not-sent', reason: 'given up' } : reply;
    }),
  },
  {
    breaks: 'a release is followed by one more heartbeat',
    foundBy: ['S16'],
    sabotage: onTheWire(async (request, next, send) => {
      const reply = await next();
      if (request.body?.includes('"release":true')) {
        const heartbeat = rewritten(request, (body) => (body.release = false));
        await send({ ...heartbeat, headers: { ...heartbeat.headers, 'idempotency-key': newUuid() } });
      }
      return reply;
    }),
  },
  {
    breaks: 'a task that goes on is released',
    foundBy: ['S16', 'S2'],
    crowd: 'small',
    seed: 3,
    sabotage: onTheWire((request, next, send) =>
      request.url.endsWith('/activity') && request.method === 'POST'
        ? send(rewritten(request, (body) => (body.release = true)))
        : next(),
    ),
  },
];
