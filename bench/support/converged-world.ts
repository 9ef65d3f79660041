/** A fleet over many accounts that is as it is declared. */
import { FolderWorld, type Fleet, type RemoteService } from './folder-world.ts';

const timeScale = '1000';
const requests = { perSecond: 1000, burst: 1000, concurrency: 32 };

/** With Accounts and Secrets as many documents as a folder may have. */
export const largest = { accounts: 40, servicesPerAccount: 248 };
export const small = { accounts: 4, servicesPerAccount: 10 };

export interface Placed {
  readonly account: number;
  readonly service: RemoteService;
}

export interface ConvergedWorld {
  readonly world: FolderWorld;
  readonly accounts: number;
  readonly pollSeconds: number;
  readonly placed: readonly Placed[];
}

export async function converge(
  size: Pick<Fleet, 'accounts' | 'servicesPerAccount' | 'pollSeconds'>,
): Promise<ConvergedWorld> {
  const world = await FolderWorld.start(size.accounts, ['--time-scale', timeScale]);
  await world.declare({ ...size, servicesPerFile: 100, requests });
  const { code, complaints } = await world.run(['apply', ...world.flags, '--yes', '--timeout', '30m']);
  if (code !== 0) throw new Error(`apply exited with ${code}: ${complaints}`);
  const placed: Placed[] = [];
  for (let account = 0; account < size.accounts; account += 1) {
    for (const service of await world.services(account)) placed.push({ account, service });
  }
  return { world, accounts: size.accounts, pollSeconds: size.pollSeconds, placed };
}

export function isServiceRead({ method, path }: { readonly method: string; readonly path: string }): boolean {
  return method === 'GET' && /^\/api\/services\/[^/]+$/.test(path);
}
