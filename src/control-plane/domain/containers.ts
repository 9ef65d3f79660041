/**
 * What clients may see and do inside a running service: logs, commands, metrics, browser sessions. The runtime
 * answers; here is who may ask, in which state, and how much is answered at most.
 */
import type { ExecRequest } from '../../api/wire.ts';
import { UserError } from '../../base/user-error.ts';
import type { BrowserSessions } from './browser-sessions.ts';
import { commandsAtOnce, execDefaultSeconds, execOutputBytes, logReadsAtOnce } from './config.ts';
import { conflict } from './errors.ts';
import type { Platform } from './platform.ts';
import { isStopping, stateText, type AccountRecord, type ServiceRecord } from '../store/records.ts';
import type { ExecutionResult } from './runtime.ts';
import type { Services } from './services.ts';
import { Slots } from './slots.ts';

export class Containers {
  readonly #platform: Platform;
  readonly #services: Services;
  readonly #sessions: BrowserSessions;
  readonly #logReads = new Slots(logReadsAtOnce, 'reads of logs');
  readonly #commands = new Slots(commandsAtOnce, 'commands');

  constructor(platform: Platform, services: Services, sessions: BrowserSessions) {
    this.#platform = platform;
    this.#services = services;
    this.#sessions = sessions;
    if (platform.config.browserEnabled && !platform.runtime.browser) {
      throw new UserError(
        'the configuration offers browser sessions, and this runtime has none',
        'set browserEnabled: false',
      );
    }
  }

  async logs(account: AccountRecord, id: string): Promise<string> {
    const service = this.#services.find(account, id);
    return this.#logReads.with(account.id, () => this.#platform.runtime.logs(service));
  }

  metrics(account: AccountRecord, id: string, minutes: number): Promise<object> {
    const service = this.#services.find(account, id);
    if (!this.#platform.config.metricsEnabled) {
      throw conflict('metrics_disabled', 'this control plane collects no metrics');
    }
    return this.#platform.runtime.metrics(service, minutes);
  }

  /** Decides in the running transaction; what it returns runs the command. Call it only after the commit. */
  admit(account: AccountRecord, id: string, request: ExecRequest): () => Promise<ExecutionResult> {
    const { events, runtime, store } = this.#platform;
    const service = this.#services.find(account, id);
    requireRunning(service, 'run a command in');
    // Now, and not when it runs: others of the same moment are admitted before that.
    const giveBack = this.#commands.take(account.id);
    store.unit.onRollback(giveBack);
    events.add(service.id, `exec requested by ${account.name}`);
    const { command, timeoutSeconds = execDefaultSeconds } = request;
    return async () => {
      try {
        return bounded(await runtime.exec(service, { command, timeoutSeconds }));
      } finally {
        giveBack();
      }
    };
  }

  openBrowser(account: AccountRecord, id: string): { url: string } {
    const { config, events, runtime } = this.#platform;
    const service = this.#services.find(account, id);
    if (!config.browserEnabled || !runtime.browser) {
      throw conflict('browser_disabled', 'the catalog offers no browser sessions here');
    }
    requireRunning(service, 'open a browser session in');
    events.add(service.id, `browser session opened by ${account.name}`);
    return { url: this.#sessions.open(account.id, service.id) };
  }
}

function requireRunning(service: ServiceRecord, attempt: string): void {
  if (service.state === 'running' && !isStopping(service)) return;
  throw conflict('invalid_state', `can't ${attempt} a service that is ${stateText(service)}`);
}

/** At most 64 KiB of each output, whatever the runtime gave. */
export function bounded(result: ExecutionResult): ExecutionResult {
  const stdout = cut(result.stdout);
  const stderr = cut(result.stderr);
  const isCut = stdout !== result.stdout || stderr !== result.stderr;
  return { ...result, stdout, stderr, truncated: result.truncated || isCut };
}

function cut(text: string): string {
  if (Buffer.byteLength(text) <= execOutputBytes) return text;
  // A character that is cut in two is dropped.
  return Buffer.from(text)
    .subarray(0, execOutputBytes)
    .toString()
    .replace(/\uFFFD$/, '');
}
