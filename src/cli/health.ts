/** What a running manager serves for whoever looks after it. */
import { notListening } from '../base/index.ts';
import type { createHealthServer } from '../http/index.ts';
import { print, type Context } from './context.ts';

/** Says where it listens; throws a `UserError` when it can't. */
export async function serve(
  context: Context,
  server: ReturnType<typeof createHealthServer>,
  address: { readonly host: string; readonly port: number },
): Promise<void> {
  const listening = server.listen(address).catch((error: unknown) => {
    throw notListening(address, error);
  });
  print(context, `listening on ${await listening}`);
}
