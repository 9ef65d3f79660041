/**
 * The shape of today's operators: one GET for each object and poll, ten at once, and whatever fails is sent again at once. A process of
 * its own, so that its CPU can be told; each message is one poll.
 */
import { Agent, fetch, setGlobalDispatcher } from 'undici';

export interface Polled {
  readonly url: string;
  readonly objects: readonly { readonly id: string; readonly apiKey: string }[];
}

const parallelism = 10;
const attempts = 5;
setGlobalDispatcher(new Agent({ connections: parallelism }));

/** What it knew of each object; a difference would be worked on. */
const revisions = new Map<string, number>();

async function poll({ url, objects }: Polled): Promise<number> {
  let [next, changed] = [0, 0];
  const worker = async () => {
    for (let object = objects[next++]; object; object = objects[next++]) {
      const revision = await read(url, object);
      if (revisions.get(object.id) !== revision) changed += 1;
      revisions.set(object.id, revision);
    }
  };
  await Promise.all(Array.from({ length: parallelism }, worker));
  return changed;
}

async function read(url: string, { id, apiKey }: Polled['objects'][number]): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    const response = await fetch(`${url}/api/services/${id}`, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    const body = (await response.json()) as { readonly service?: { readonly revision: number } };
    if (body.service) return body.service.revision;
    if (attempt === attempts) throw new Error(`${id}: ${response.status}`);
  }
}

process.on('message', (message: Polled) => {
  void poll(message).then((changed) => process.send?.(changed));
});
