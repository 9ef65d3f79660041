/**
 * Reports to systemd, where it has started this process with `Type=notify` (sd_notify(3)):
 *
 *     starting ── started ──> READY=1 ── each half of WatchdogSec, while nothing is stuck ──> WATCHDOG=1
 *                                └── asked to stop ──> STOPPING=1
 *
 * Node has no datagram sockets of Unix, so `systemd-notify` sends each message. The unit needs `NotifyAccess=all` for that. A message
 * that cannot be sent is logged, and nothing else happens. systemd then acts by the unit.
 */
import { execFile } from 'node:child_process';
import { messageOf, type Clock, type Timer } from '../base/index.ts';
import type { Logger } from '../telemetry/index.ts';

export interface ServiceManagerOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn'>;
  /** What is stuck. While it returns something, the watchdog gets no sign of life. */
  readonly problem: () => string | undefined;
  /** Sends one message. Default: `systemd-notify`. */
  readonly notify?: (assignments: readonly string[]) => Promise<void>;
}

export class ServiceManager {
  readonly #options: ServiceManagerOptions;
  readonly #isPresent: boolean;
  #timer: Timer | undefined;

  constructor(options: ServiceManagerOptions) {
    this.#options = options;
    this.#isPresent = Boolean(options.environment['NOTIFY_SOCKET']);
  }

  /** The manager has started. From now on, the watchdog gets its signs of life. */
  async started(status: string): Promise<void> {
    if (!this.#isPresent) return;
    await this.#send('READY=1', `STATUS=${status}`);
    this.#watchLater();
  }

  async stopping(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#isPresent) await this.#send('STOPPING=1');
  }

  /** Undefined: the unit has no `WatchdogSec`, or that of another process is in the environment. */
  get #watchdogMs(): number | undefined {
    const { environment, pid } = this.#options;
    const micros = Number(environment['WATCHDOG_USEC']);
    const watched = environment['WATCHDOG_PID'];
    return micros > 0 && (watched === undefined || Number(watched) === pid) ? micros / 1000 : undefined;
  }

  #watchLater(): void {
    const everyMs = this.#watchdogMs;
    if (everyMs === undefined) return;
    this.#timer = this.#options.clock.after(everyMs / 2, () => {
      this.#watchLater();
      void this.#signOfLife();
    });
  }

  async #signOfLife(): Promise<void> {
    const { logger, problem } = this.#options;
    const stuck = problem();
    if (stuck === undefined) await this.#send('WATCHDOG=1');
    else logger.warn({ note: stuck }, 'the watchdog gets no sign of life');
  }

  async #send(...assignments: string[]): Promise<void> {
    const { logger, notify = systemdNotify } = this.#options;
    try {
      await notify(assignments);
    } catch (error) {
      logger.warn({ note: messageOf(error) }, `systemd was not notified of ${assignments[0]}`);
    }
  }
}

/** Rejects when it is not installed, takes more than 5 s, or fails. */
function systemdNotify(assignments: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile('systemd-notify', [...assignments], { timeout: 5000 }, (error) => {
      if (error) reject(error);
      else resolve();
    });
  });
}
