/**
 * `/healthz`, `/readyz` and `/metrics` of a running manager, as Kubernetes' own servers have them: `ok`, or with
 * `?verbose`, or when something is wrong (503), a line per check. It shows no secret and does nothing.
 */
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';

export interface Check {
  readonly name: string;
  /** Undefined when all is well. */
  readonly problem: string | undefined;
}

export interface ManagerView {
  live(): readonly Check[];
  ready(): readonly Check[];
  /** Prometheus text. */
  metrics(): Promise<string>;
}

export function createHealthServer(view: ManagerView): FastifyInstance {
  const app = Fastify({ logger: false, forceCloseConnections: true });
  app.get('/healthz', (request, reply) => answer(request, reply, 'healthz', view.live()));
  app.get('/readyz', (request, reply) => answer(request, reply, 'readyz', view.ready()));
  app.get('/metrics', async (_request, reply) =>
    reply.type('text/plain; version=0.0.4; charset=utf-8').send(await view.metrics()),
  );
  return app;
}

function answer(
  { query }: FastifyRequest,
  reply: FastifyReply,
  name: string,
  checks: readonly Check[],
): FastifyReply {
  const isWell = checks.every(({ problem }) => problem === undefined);
  const isVerbose = (query as Record<string, unknown>)['verbose'] !== undefined;
  const lines =
    isWell && !isVerbose ? ['ok'] : [...checks.map(line), `${name} check ${isWell ? 'passed' : 'failed'}`];
  return reply
    .code(isWell ? 200 : 503)
    .header('cache-control', 'no-store')
    .type('text/plain; charset=utf-8')
    .send(`${lines.join('\n')}\n`);
}

function line({ name, problem }: Check): string {
  return problem === undefined ? `[+]${name} ok` : `[-]${name} failed: ${problem}`;
}
