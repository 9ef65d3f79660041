/**
 * What no manager in Node can do without: the answer of each account is read as text, compared with the one before, and that is all. A process
 * of its own, so that its CPU can be told; each message is one poll.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request, setGlobalDispatcher } from 'undici';

export interface ReadAccounts {
  readonly url: string;
  readonly apiKeys: readonly string[];
  /** Between the beginnings of two reads; 0: all are made at once. */
  readonly everyMs: number;
}

setGlobalDispatcher(new Agent());

const newest = new Map<string, string>();

/** Whether it is another one than before. */
async function read(url: string, apiKey: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${apiKey}` };
  const { body, statusCode } = await request(`${url}/api/account`, { headers });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`an account was answered with ${statusCode}: ${text}`);
  const isAnother = newest.get(apiKey) !== text;
  newest.set(apiKey, text);
  return isAnother;
}

process.on('message', ({ url, apiKeys, everyMs }: ReadAccounts) => {
  const reads = apiKeys.map(async (apiKey, index) => {
    if (everyMs > 0) await delay(index * everyMs);
    return read(url, apiKey);
  });
  void Promise.all(reads).then((changes) => process.send?.(changes));
});
