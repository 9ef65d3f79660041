/** What a running manager serves for whoever looks after it. */
import { notListening } from '../base/index.ts';
import { print, type Context } from './context.ts';
import type { HealthServer, ListenAddress } from './ports.ts';

/** Logs the address on which it listens; throws a `UserError` when it can't. */
export async function serve(context: Context, server: HealthServer, address: ListenAddress): Promise<void> {
  const listen = context.ports?.listen ?? (() => server.listen(address));
  const listening = listen(server, address).catch((error: unknown) => {
    throw notListening(address, error);
  });
  print(context, `listening on ${await listening}`);
}
