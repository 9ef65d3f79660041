/** sd_notify(3): what systemd is told, and when. */
import { expect, test } from 'vitest';
import { ServiceManager } from '../../../src/cli/service-manager.ts';
import { ManualClock } from '../../support/manual-clock.ts';

interface Given {
  readonly environment?: Readonly<Record<string, string>>;
  readonly problem?: () => string | undefined;
  readonly fails?: boolean;
}

const watched = { NOTIFY_SOCKET: '/run/notify', WATCHDOG_USEC: '60000000', WATCHDOG_PID: '7' };

function started({ environment = watched, problem = () => undefined, fails = false }: Given = {}) {
  const clock = new ManualClock();
  const [sent, warned]: [string[], string[]] = [[], []];
  const notify = async (assignments: readonly string[]) => {
    sent.push(assignments.join(' '));
    if (fails) throw new Error('no such command');
  };
  const logger = { warn: (_about: object, message: string) => warned.push(message) } as never;
  const manager = new ServiceManager({ environment, pid: 7, clock, logger, problem, notify });
  return { clock, sent, warned, manager };
}

test('without systemd nothing is sent', async () => {
  const { clock, sent, manager } = started({ environment: { WATCHDOG_USEC: '60000000' } });
  await manager.started('managing ./fleet');
  await clock.advance(300_000);
  await manager.stopping();
  expect(sent).toEqual([]);
});

test('readiness comes first, then a sign of life each half of WatchdogSec, and the stop', async () => {
  const { clock, sent, manager } = started();
  await manager.started('managing ./fleet');
  await clock.advance(95_000);
  await manager.stopping();
  await clock.advance(95_000);
  const signs = ['WATCHDOG=1', 'WATCHDOG=1', 'WATCHDOG=1'];
  expect(sent).toEqual(['READY=1 STATUS=managing ./fleet', ...signs, 'STOPPING=1']);
});

test('while something is stuck, the watchdog gets no sign of life, and the log says why', async () => {
  let problem: string | undefined = 'no pass has ended for 5 min';
  const { clock, sent, warned, manager } = started({ problem: () => problem });
  await manager.started('managing ./fleet');
  await clock.advance(35_000);
  expect(sent).toEqual(['READY=1 STATUS=managing ./fleet']);
  expect(warned).toEqual(['the watchdog gets no sign of life']);
  problem = undefined;
  await clock.advance(30_000);
  expect(sent.at(-1)).toBe('WATCHDOG=1');
});

test.each([
  ['no WatchdogSec', { NOTIFY_SOCKET: '/run/notify' }],
  ['the watchdog of another process', { ...watched, WATCHDOG_PID: '8' }],
  ['a watchdog that makes no sense', { ...watched, WATCHDOG_USEC: 'soon' }],
])('%s: readiness only', async (_what, environment) => {
  const { clock, sent, manager } = started({ environment });
  await manager.started('managing ./fleet');
  await clock.advance(300_000);
  expect(sent).toEqual(['READY=1 STATUS=managing ./fleet']);
});

test('a message that can not be sent is logged, and nothing ends', async () => {
  const { clock, sent, warned, manager } = started({ fails: true });
  await manager.started('managing ./fleet');
  await clock.advance(35_000);
  expect(sent).toHaveLength(2);
  expect(warned).toEqual(['systemd was not notified of READY=1', 'systemd was not notified of WATCHDOG=1']);
});
