/** Removes what the suite has made. What is gone already is fine; what can't be removed is told. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Answer, Api, Json } from './api.ts';

/** Removed in this order: a volume is free only when its service is gone. */
const kinds = ['service', 'volume', 'template', 'registry'] as const;
export type Kind = (typeof kinds)[number];

const pauseMs = 100;

export interface Made {
  readonly kind: Kind;
  readonly id: string;
}

/**
 * Answers with what is still there after `timeoutMs`, and why. `made` may grow meanwhile: an interrupted test goes on
 * until its request is answered.
 */
export async function remove(api: Api, made: readonly Made[], timeoutMs: number): Promise<string[]> {
  const untilMs = Date.now() + timeoutMs;
  for (;;) {
    const lists = await listAll(api, new Set(made.map(({ kind }) => kind)));
    const refusals: string[] = [];
    const left = made.filter(({ kind, id }) => lists[kind].some((item) => item.id === id));
    for (const kind of kinds) {
      const ids = new Set(left.filter((one) => one.kind === kind).map(({ id }) => id));
      for (const item of lists[kind].filter(({ id }) => ids.has(String(id)))) {
        const answer = await requestRemoval(api, kind, item);
        refusals.push(`${kind} ${item.id}: ${answer.status} ${answer.text}`);
      }
    }
    if (left.length === 0) return [];
    if (Date.now() > untilMs) return refusals;
    await delay(pauseMs);
  }
}

/** Everything in the account whose name begins with the run's. */
export async function madeByRun(api: Api, runName: string): Promise<Made[]> {
  const lists = await listAll(api, new Set(kinds));
  return kinds.flatMap((kind) =>
    lists[kind]
      .filter((item) => String(item.name ?? item.repository ?? '').includes(runName))
      .map(({ id }) => ({ kind, id: String(id) })),
  );
}

function requestRemoval(api: Api, kind: Kind, item: Json): Promise<Answer> {
  const { id, revision } = item;
  switch (kind) {
    case 'service':
      return api.call('POST', `/api/services/${id}/actions`, { action: 'delete' });
    case 'volume':
      return api.call('DELETE', `/api/volumes/${id}`);
    case 'template':
      return api.call('DELETE', `/api/templates/${id}`, { revision });
    case 'registry':
      return api.call('DELETE', `/api/registries/${id}`, { revision });
  }
}

async function listAll(api: Api, wanted: ReadonlySet<Kind>): Promise<Record<Kind, Json[]>> {
  const list = async (kind: Kind, path: string, member: string): Promise<Json[]> =>
    wanted.has(kind) ? (await api.get(path))[member] : [];
  return {
    service: await list('service', '/api/account', 'services'),
    volume: await list('volume', '/api/volumes', 'volumes'),
    template: await list('template', '/api/templates', 'templates'),
    registry: await list('registry', '/api/registries', 'registries'),
  };
}
