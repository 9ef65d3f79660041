/** Gives a folder a control plane of its own. */
import { UserError, messageOf } from '../../base/index.ts';
import { complain, type Context } from '../context.ts';
import { shellWord } from '../options.ts';
import { findEngine } from './engine.ts';
import {
  createPlace,
  localPlaceOf,
  placeIn,
  readSettings,
  type LocalPlace,
  type LocalRuntime,
} from './place.ts';
import { refuseOthers } from './with-local.ts';

/**
 * The control plane of the folder, made now unless it has one. `runtime`: what its containers have to be; undefined: real ones, if an engine
 * answers. `simulating`: the same command with simulated containers. Throws a `UserError` if it has another runtime, or if the folder is that of a provider.
 */
export async function ensureLocal(
  context: Context,
  source: string,
  runtime: LocalRuntime | undefined,
  simulating: string,
): Promise<LocalPlace> {
  const existing = localPlaceOf(context, source);
  await refuseOthers(context, existing ?? placeIn(source));
  if (!existing) return createPlace(source, await settingsFor(context, runtime, simulating), context.random);
  const { runtime: current } = readSettings(existing);
  if (runtime === undefined || runtime === current) return existing;
  throw new UserError(
    `the containers of ${source} are ${adjective[current]}, and can't become ${adjective[runtime]}`,
    `first \`fleetkeeper destroy ${shellWord(source)}\`, then remove ${source}/.fleetkeeper`,
  );
}

const adjective = { docker: 'real', simulated: 'simulated' } as const;

async function settingsFor(context: Context, runtime: LocalRuntime | undefined, simulating: string) {
  if (runtime === 'simulated') return { runtime };
  try {
    return { runtime: 'docker' as const, ...(await findEngine(context, simulating)) };
  } catch (error) {
    if (runtime === 'docker' || !(error instanceof UserError)) throw error;
    complain(context, `containers are simulated, because ${messageOf(error)}`);
    return { runtime: 'simulated' as const };
  }
}
