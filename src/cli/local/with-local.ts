/** Commands in a folder that has a control plane of its own: it runs for as long as they do, and they use no other account. */
import { UserError } from '../../base/index.ts';
import { accountsIn, readFolder } from '../../desired/index.ts';
import { complain, exitCodes, type Context } from '../context.ts';
import { localPlaceOf, type LocalPlace } from './place.ts';
import type { LocalControlPlane } from './serve.ts';

/** Does the work with the account of the folder's control plane, or as it is if the folder has none. */
export async function withLocal<Result>(
  context: Context,
  source: string | undefined,
  work: (context: Context, plane?: LocalControlPlane) => Promise<Result>,
): Promise<Result> {
  const place = context.local === undefined ? localPlaceOf(context, source) : undefined;
  if (!place) return work(context);
  await refuseOthers(context, place);
  const { reachLocal } = await import('./serve.ts');
  const plane = await reachLocal(context, place);
  try {
    return await work(contextOf(context, place, plane.url), plane);
  } finally {
    await plane.close();
  }
}

/**
 * As `withLocal`, for work that ends with an exit code. Where it fails, containers may have: the API shows no message of the engine, which
 * could have addresses and paths of its machine in it. Here, that is the user's own.
 */
export async function withLocalCode(
  context: Context,
  source: string | undefined,
  work: (context: Context) => Promise<number>,
): Promise<number> {
  return withLocal(context, source, async (local, plane) => {
    const code = await work(local);
    if (code !== exitCodes.ok && plane?.settings.runtime === 'docker') {
      complain(context, `what the container engine reported is in ${plane.logFile}`);
    }
    return code;
  });
}

function contextOf(context: Context, { keyFile, source }: LocalPlace, url: string): Context {
  const environment = {
    ...context.environment,
    FLEETKEEPER_API_URL: url,
    FLEETKEEPER_API_KEY: undefined,
    FLEETKEEPER_API_KEY_HEADER: undefined,
    FLEETKEEPER_API_KEY_FILE: keyFile,
  };
  return { ...context, environment, local: source };
}

/** Nothing of this folder may get to a provider, and nothing of a provider into its state. */
export async function refuseOthers({ environment }: Context, { source }: LocalPlace): Promise<void> {
  if (environment['FLEETKEEPER_API_URL']) {
    throw new UserError(
      `${source} has a control plane of its own, and FLEETKEEPER_API_URL names another one`,
      `unset FLEETKEEPER_API_URL; or copy the documents into another folder for that one`,
    );
  }
  const [account] = accountsIn((await readFolder(source)).objects);
  if (!account) return;
  throw new UserError(
    `${account.location.file}:${account.location.line} declares the Account ${account.name}, and ${source} has a control plane of its own: nothing was sent to either`,
    'remove the Account to use containers of this machine; or copy the documents into another folder, and use `fleetkeeper apply` or `fleetkeeper run` there for its provider',
  );
}
