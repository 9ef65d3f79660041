/**
 * What no cache in Node can do without: pages of a list and lines of a watch are read and parsed, and that is all. Nothing is kept, checked,
 * shared or counted, and what fails ends the process. It is the limit beside which the reflector stands in B4 and B5.
 */
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { serveCache, watched, type Stamped } from '../support/cache-protocol.ts';

interface Page {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
}

/** As many as the reflector asks for. */
const pageSize = 500;
const address = `/apis/${watched.group}/${watched.version}/${watched.plural}`;

async function ask(server: string, query: Record<string, string>): Promise<IncomingMessage> {
  const request = get(`${server}${address}?${new URLSearchParams(query).toString()}`);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`the API answered ${response.statusCode}`);
  return response;
}

serveCache(async (server, onChange) => {
  let page: Page | undefined;
  do {
    const more = page?.metadata.continue;
    const query = { limit: String(pageSize), ...(more !== undefined && { continue: more }) };
    page = JSON.parse(await text(await ask(server, query))) as Page;
  } while (page.metadata.continue !== undefined);
  const { resourceVersion } = page.metadata;
  const events = await ask(server, { watch: 'true', resourceVersion });
  createInterface({ input: events }).on('line', (line) =>
    onChange((JSON.parse(line) as { readonly object: Stamped }).object),
  );
});
