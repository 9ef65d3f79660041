/**
 * What no manager in Node can do without: the answer of each account is read as text, and that is all. A process of its own, so that its CPU
 * can be told; each message is one poll.
 */
import { Agent, request, setGlobalDispatcher } from 'undici';

export interface ReadAccounts {
  readonly url: string;
  readonly apiKeys: readonly string[];
}

setGlobalDispatcher(new Agent());

async function read(url: string, apiKey: string): Promise<number> {
  const headers = { authorization: `Bearer ${apiKey}` };
  const { body, statusCode } = await request(`${url}/api/account`, { headers });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`an account was answered with ${statusCode}: ${text}`);
  return text.length;
}

process.on('message', ({ url, apiKeys }: ReadAccounts) => {
  void Promise.all(apiKeys.map((apiKey) => read(url, apiKey))).then((lengths) => process.send?.(lengths));
});
