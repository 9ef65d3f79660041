/** `/healthz`, `/readyz` and `/metrics` of a running manager. It shows no secret and does nothing. */
import Fastify, { type FastifyInstance } from 'fastify';

export interface ManagerView {
  /** The source and every account have been read once. */
  ready(): boolean;
  /** Prometheus text. */
  metrics(): Promise<string>;
}

export function createHealthServer(view: ManagerView): FastifyInstance {
  const app = Fastify({ logger: false, forceCloseConnections: true });
  app.get('/healthz', () => ({ status: 'ok' }));
  app.get('/readyz', (_request, reply) =>
    view.ready()
      ? { status: 'ready' }
      : reply
          .code(503)
          .send({ status: 'not ready', message: 'the source or an account has not been read yet' }),
  );
  app.get('/metrics', async (_request, reply) =>
    reply.type('text/plain; version=0.0.4; charset=utf-8').send(await view.metrics()),
  );
  return app;
}
