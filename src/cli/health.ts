/** What a running manager serves for whoever looks after it. */
import { notListening } from '../base/index.ts';
import { print, type Context } from './context.ts';
import type { HealthServer, ListenAddress } from './ports.ts';

/** Prints the address on which it listens, and that of its page; throws a `UserError` when it can't. */
export async function serve(
  context: Context,
  server: HealthServer,
  address: ListenAddress,
  hasPage = false,
): Promise<void> {
  const listen = context.ports?.listen ?? (() => server.listen(address));
  const listening = listen(server, address).catch((error: unknown) => {
    throw notListening(address, error);
  });
  const url = await listening;
  print(context, `listening on ${url}`);
  if (hasPage) print(context, pageLine(url));
}

/** An address that means all of this machine can't be opened. */
export function pageLine(url: string): string {
  return `page: ${url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:').replace(/\/*$/, '/')}`;
}
