/**
 * The reference control plane in a simulated world: its real domain, applications and database, without
 * a socket.
 */
import pino from 'pino';
import { openControlPlane, parseAccounts, parseConfig } from '../../../src/control-plane/main.ts';
import { randomPort, stream } from '../../simulation/random-port.ts';
import { Life } from '../../simulation/scheduler.ts';
import type { PlaneSettings, RunningPlane } from '../world.ts';
import { cutByDestroying, hostOf, type SimulatedNetwork } from './network.ts';
import type { SimulatedTime } from './time.ts';

const nowhere = { host: '127.0.0.1', port: 0 };

export async function startPlane(
  { database, accounts, config, timeScale, port }: PlaneSettings,
  time: SimulatedTime,
  network: SimulatedNetwork,
  seed: number,
): Promise<RunningPlane> {
  const { scheduler } = time;
  const life = new Life(scheduler, () => time.wallMs, 0);
  const settings = parseConfig(config ?? '{}', 'config.yaml');
  const { api, privates, store, close } = await openControlPlane({
    listen: nowhere,
    adminListen: nowhere,
    database,
    accounts: parseAccounts(accounts, 'accounts.yaml'),
    config: settings,
    timeScale,
    clock: life.clock,
    random: randomPort(stream(seed, 'control plane')),
    logger: pino({ level: 'silent' }),
  });
  const [admin] = privates;
  if (!admin) throw new Error('the control plane has no admin listener');
  cutByDestroying(api);
  await Promise.all([api.ready(), admin.app.ready()]);
  const { promise: gone, resolve: go } = Promise.withResolvers<undefined>();
  const url = network.open(hostOf(api, gone), port);
  const adminUrl = network.open(hostOf(admin.app, gone));
  const leave = () => {
    network.close(url);
    network.close(adminUrl);
  };
  return {
    url,
    adminUrl,
    inside: { store, config: settings },
    close: async () => {
      leave();
      await close();
      life.end();
    },
    crash: () => {
      leave();
      life.end();
      store.database.rollback();
      store.close();
      go(undefined);
    },
  };
}
