/**
 * The protection of a service while a command runs.
 *
 *     service lookup ──> registering ──> held ──(the command has ended)──> releasing ──> over
 *          └── not reached: again ──┘
 *
 * An API that can't be reached is tried again until the command ends, and for `releaseMs` after it, unless no request
 * can have registered anything. If there can be no protection (no such service, a key that is not accepted), `held`
 * reports that once.
 *
 * Once it was held, no refusal ends it. While heartbeats are refused, and when they are accepted again, one line shows that.
 */
import { HeartbeatLoop, type RegistrationRequest, type RegistrationState } from '../../activities/index.ts';
import { UserError, sleep } from '../../base/index.ts';
import { createLogger, createMetrics } from '../../telemetry/index.ts';
import { RequestFailed } from '../output/answers.ts';
import { complain, type Context } from '../context.ts';
import { withService, type FoundService, type ServiceFlags } from './service-lookup.ts';

export interface Activity {
  readonly id: string;
  readonly name: string;
}

type ActivityApi = RegistrationRequest['api'];

/** How long the release is tried after the command has ended. */
const releaseMs = 30_000;
const recheckMs = 2000;
/** As the default of `--settle`. */
const settleMs = 5000;
const passing = new Set([408, 429, 503]);

export class Protection {
  readonly #context: Context;
  readonly #service: string | undefined;
  readonly #flags: ServiceFlags;
  #activity: Activity;
  readonly #ending = new AbortController();
  readonly #givingUp = new AbortController();
  readonly #held = Promise.withResolvers<void>();
  readonly #done: Promise<void>;
  #state: RegistrationState | undefined;
  /** There may be a record of it, which is to be released. */
  #mayExist: boolean;
  readonly #takesUp: boolean;
  /** It was refused for good, and so never was. */
  #refused = false;
  #wasHeld = false;
  /** Another id has replaced one that somebody else released. */
  #isRetaken = false;
  /** The status that the last line was about; 0: the release by somebody else. */
  #shownStatus: number | undefined;
  #hasCommand = false;

  /** `takesUp`: somebody may have registered the activity before. */
  constructor(
    context: Context,
    service: string | undefined,
    flags: ServiceFlags,
    activity: Activity,
    takesUp: boolean,
  ) {
    this.#context = context;
    this.#service = service;
    this.#flags = flags;
    this.#activity = activity;
    this.#mayExist = takesUp;
    this.#takesUp = takesUp;
    this.#held.promise.catch(() => undefined);
    this.#done = this.#run();
  }

  /** Resolves when the activity is registered; rejects with a `UserError` when it never can be. */
  get held(): Promise<void> {
    return this.#held.promise;
  }

  /** The activity, for people. */
  get label(): string {
    return `the activity "${this.#activity.name}" (${this.#activity.id})`;
  }

  /** What stands in the way just now. */
  get failure(): string | undefined {
    return this.#state?.failure;
  }

  /** From here on, what becomes of the protection is shown. */
  commandStarts(): void {
    this.#hasCommand = true;
  }

  /** The command has ended: releases the activity, and reports a failure. */
  async end(): Promise<void> {
    const { clock } = this.#context;
    this.#ending.abort();
    const timer = clock.after(releaseMs, () => this.#givingUp.abort());
    await this.#done;
    timer.cancel();
    if (this.#refused || !this.#mayExist || this.#state?.phase === 'released') return;
    const why = this.failure === undefined ? '' : `: ${this.failure}`;
    complain(
      this.#context,
      `${this.label} could not be released${why}; it protects ${this.#place} until it is: ` +
        `run \`protect\` again with --task-id ${this.#activity.id}`,
    );
  }

  /** Waits for the release no longer. */
  giveUp(): void {
    this.#givingUp.abort();
  }

  async #run(): Promise<void> {
    for (;;) {
      try {
        await withService(this.#context, this.#service, this.#flags, (found) => this.#protect(found));
        return;
      } catch (error) {
        const waits = error instanceof RequestFailed && mayPass(error);
        if (!waits) return this.#held.reject(error);
        if (this.#ending.signal.aborted) return;
        await sleep(this.#context.clock, recheckMs, this.#ending.signal);
      }
    }
  }

  /** Notices whether a request may have registered the activity. */
  #watched(api: ActivityApi): ActivityApi {
    return {
      activities: (...request) => api.activities(...request),
      heartbeatWaits: () => api.heartbeatWaits(),
      recordActivity: async (...request) => {
        const before = this.#mayExist;
        this.#mayExist = true;
        const outcome = await api.recordActivity(...request);
        if (outcome.kind === 'not-sent' || outcome.kind === 'refused') this.#mayExist = before;
        return outcome;
      },
    };
  }

  async #protect({ account, id: serviceId }: FoundService): Promise<void> {
    const visibilityMs = account.spec.visibilitySeconds * 1000;
    const { clock, random } = this.#context;
    const over = Promise.withResolvers<void>();
    let releaseKey = random.uuid();
    const api = this.#watched(account.api);
    const loop = new HeartbeatLoop<'task'>({
      clock,
      random,
      logger: createLogger('silent'),
      metrics: createMetrics(),
      settleMs,
      onChange: () => check(),
    });
    /** Somebody has released it meanwhile: another one protects from here on, unless it is over anyway. */
    const retake = () => {
      if (this.#ending.signal.aborted) return over.resolve();
      const lost = this.label;
      this.#activity = { ...this.#activity, id: random.uuid() };
      [this.#isRetaken, this.#mayExist, this.#shownStatus] = [true, false, 0];
      complain(
        this.#context,
        `${lost} was released by somebody else; ${this.#activity.id} is registered in its place`,
      );
      check();
    };
    const check = (): void => {
      if (this.#ending.signal.aborted && !this.#mayExist) return over.resolve();
      const state = loop.keep('task', {
        account: account.key,
        api,
        serviceId,
        activityId: this.#activity.id,
        name: this.#activity.name,
        wanted: this.#ending.signal.aborted ? 'released' : 'held',
        releaseKey,
        isNew: !this.#takesUp && !this.#isRetaken,
        visibilityMs,
      });
      this.#state = state;
      if (state.phase === 'held') {
        this.#wasHeld = true;
        this.#held.resolve();
      }
      if (state.phase === 'released') return over.resolve();
      if (state.isShownAgain) {
        releaseKey = random.uuid();
        return check();
      }
      if (state.phase === 'spent' && this.#wasHeld) return retake();
      this.#show(state, visibilityMs);
      const refusal = this.#wasHeld ? undefined : refusalOf(state, this.#activity);
      if (!refusal) return;
      this.#refuse(refusal);
      over.resolve();
    };
    this.#ending.signal.addEventListener('abort', check, { once: true });
    this.#givingUp.signal.addEventListener('abort', () => over.resolve(), { once: true });
    check();
    await over.promise;
    await loop.stop();
  }

  #refuse(refusal: UserError): void {
    this.#refused = true;
    this.#held.reject(refusal);
    if (this.#hasCommand)
      complain(this.#context, `${refusal.message}; nothing protects ${this.#place} while the command runs`);
  }

  get #place(): string {
    return this.#service ?? 'the service';
  }

  /** One line when heartbeats are refused, and one when they are accepted again. */
  #show({ phase, failure, refusedWith }: RegistrationState, visibilityMs: number): void {
    if (!this.#wasHeld || this.#ending.signal.aborted) return;
    if (phase === 'held' && failure === undefined) {
      if (this.#shownStatus !== undefined) complain(this.#context, `protected again by ${this.label}`);
      this.#shownStatus = undefined;
      return;
    }
    if (refusedWith === undefined || refusedWith === this.#shownStatus) return;
    if (passing.has(refusedWith) && this.#mayExist) return;
    this.#shownStatus = refusedWith;
    if (!this.#mayExist) {
      const what = `nothing protects ${this.#place}: ${this.label} is not registered yet (${failure})`;
      return complain(this.#context, `${what}; it is tried again`);
    }
    complain(
      this.#context,
      `heartbeats of ${this.label} are ${failure}; ${awaited(refusedWith, this.#place, visibilityMs)}`,
    );
  }
}

function refusalOf(state: RegistrationState, { id }: Activity): UserError | undefined {
  if (state.phase === 'spent') {
    return new UserError(
      `the activity ${id} was released, and a released one does not protect again`,
      'omit --task-id, or give another UUID',
    );
  }
  const status = state.refusedWith;
  if (status === undefined || passing.has(status)) return undefined;
  return new UserError(
    `the activity can't be registered: ${state.failure}`,
    'check the service, the account and the key',
  );
}

/** What a refusal of its heartbeats may mean, and what `protect` waits for. */
function awaited(status: number, place: string, visibilityMs: number): string {
  switch (status) {
    case 401:
    case 403:
      return `its record still protects ${place}, and they continue with a valid key`;
    case 404:
    case 410:
      return `${place} may be gone, and is not protected then; the command runs on`;
    case 400:
    case 409:
      return `if somebody else has released it, nothing protects ${place} now; another one is registered once that is certain, at most ${visibilityMs / 1000} s after its registration`;
    default:
      return 'they are tried again';
  }
}

function mayPass({ outcome }: RequestFailed): boolean {
  return outcome.kind !== 'refused' || passing.has(outcome.status);
}
