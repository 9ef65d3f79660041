/** What a tenant can do besides where services are Pods: each of these makes work for the cluster or its nodes. */
import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { lanes, read, send, type Attack, type Target } from './client.ts';

interface Owned {
  readonly id: string;
  readonly state?: string;
}

/** Not to ask for the next one before there can be one. */
const pauseMs = 100;

async function oneOf(
  target: Target,
  what: 'services' | 'volumes',
  state?: string,
): Promise<string | undefined> {
  const account = (await read(target, '/api/account')) as Record<typeof what, readonly Owned[]> | undefined;
  const found = (account?.[what] ?? []).filter((owned) => state === undefined || owned.state === state);
  if (found.length === 0) await delay(pauseMs);
  return found[randomInt(Math.max(1, found.length))]?.id;
}

const act = (target: Target, id: string, action: string) =>
  send(target, 'POST', `/api/services/${id}/actions`, JSON.stringify({ action }));

const exec = (target: Target, id: string, ...command: string[]) =>
  send(target, 'POST', `/api/services/${id}/exec`, JSON.stringify({ command, timeoutSeconds: 5 }));

export const podPhases: Readonly<Record<string, RegExp>> = {
  'Pods made and removed': /^Pods: (?!.*output)/,
  'output of Pods': /^Pods: .*output|^Pods: made/,
};

export const podAttacks: Readonly<Record<string, Attack>> = {
  'Pods: made and deleted': (target, signal) =>
    lanes(2, signal, async () => {
      await send(target, 'POST', '/api/services', JSON.stringify(target.service));
      const id = await oneOf(target, 'services', 'running');
      // Some stay, for the other attacks.
      if (id !== undefined && randomInt(4) === 0) await act(target, id, 'delete');
      await delay(pauseMs);
    }),
  'Pods: started again and again': (target, signal) =>
    lanes(2, signal, async () => {
      const id = await oneOf(target, 'services');
      if (id !== undefined)
        await act(target, id, ['restart', 'restart', 'stop', 'start'][randomInt(4)] ?? '');
    }),
  'Pods: volumes made and deleted': (target, signal) =>
    lanes(2, signal, async () => {
      await send(target, 'POST', '/api/volumes', '{"name":"v","region":"standard","sizeGb":10}');
      const id = await oneOf(target, 'volumes');
      if (id !== undefined) await send(target, 'DELETE', `/api/volumes/${id}`);
    }),
  'Pods: commands with output without end': (target, signal) =>
    lanes(20, signal, async () => {
      const id = await oneOf(target, 'services', 'running');
      if (id !== undefined) await exec(target, id, 'yes');
    }),
  'Pods: reads of all output': (target, signal) =>
    lanes(8, signal, async () => {
      const id = await oneOf(target, 'services', 'running');
      if (id !== undefined) await send(target, 'GET', `/api/services/${id}/logs`);
    }),
};
