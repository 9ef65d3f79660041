/** An API server as any client may ask it: with every verb and parameter, and with the answer as it came. */
import { onTestFinished } from 'vitest';
import { Agent, request } from 'undici';
import { systemClock } from '../../../src/base/index.ts';
import { kubeconfigAccess } from '../../../src/kubernetes/kubeconfig.ts';
import type { Json } from './fleet.ts';

export interface Answer {
  readonly status: number;
  readonly body: Json;
}

export interface Asking {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With its query. */
  readonly path: string;
  /** Default: JSON. */
  readonly type?: string;
  readonly body?: unknown;
  /** Another user, whom one may be taken for. */
  readonly as?: string;
}

/** Ends with the test. */
export async function apiServer(kubeconfig: string): Promise<(asking: Asking) => Promise<Answer>> {
  const access = kubeconfigAccess({ files: [kubeconfig], context: undefined, clock: systemClock });
  const { headers, tls } = await access.credentials();
  const dispatcher = new Agent({ connect: tls.reveal(), connections: 8 });
  onTestFinished(() => dispatcher.close());
  return async ({ method, path, type = 'application/json', body, as }) => {
    const answer = await request(`${access.server}${path}`, {
      method,
      dispatcher,
      headers: {
        ...headers.reveal(),
        'content-type': type,
        ...(as === undefined ? {} : { 'impersonate-user': as }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    return { status: answer.statusCode, body: (await answer.body.json()) as Json };
  };
}
