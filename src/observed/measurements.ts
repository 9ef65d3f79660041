/**
 * Measurements of replicas: what the analysis of a rollout asks of them.
 *
 *     (not known) ── take ──> under way ── all checks have answered ──> finished
 *          ^──── another one is asked for, or none ──┴──────────────────┘
 *
 * Whoever asks has saved it before, so a measurement is begun once. One that an earlier process began is not known here: its
 * commands may have run, and are never sent again.
 *
 * A command runs in one replica after the other. So it takes one place of the limiter, and account reads have the others. What
 * has not begun after two minutes is inconclusive.
 */
import {
  describeOutcome,
  execAnswerMs,
  readExecAnswer,
  type ControlApi,
  type EndpointProbe,
  type Expectation,
  type PrometheusQueries,
} from '../api/index.ts';
import { messageOf, sleep, type Clock } from '../base/index.ts';
import type { Logger } from '../telemetry/index.ts';

export type Check =
  | {
      readonly kind: 'http';
      readonly path: string;
      readonly timeoutMs: number;
      readonly expects: Expectation;
    }
  | { readonly kind: 'exec'; readonly command: string[]; readonly timeoutSeconds: number }
  | {
      readonly kind: 'prometheus';
      readonly query: string;
      readonly min: number | undefined;
      readonly max: number | undefined;
    };

export interface MeasuredReplica {
  /** For messages. */
  readonly name: string;
  readonly id: string | undefined;
  readonly isRunning: boolean;
  readonly endpoint: string | undefined;
  /** Its endpoint may be on this machine. */
  readonly loopback: boolean;
  readonly namespace: string;
  readonly api: ControlApi | undefined;
}

export interface Measurement {
  readonly checks: readonly Check[];
  readonly replicas: readonly MeasuredReplica[];
  /** Asked before a command is sent. */
  isMeant(): boolean;
  /** The Idempotency-Key of a command: by the index of its check, and the name of the replica. */
  keyOf(check: number, replica: string): string;
}

export type CheckOutcome = 'passed' | 'failed' | 'inconclusive';

export interface CheckResult {
  readonly check: Check['kind'];
  readonly outcome: CheckOutcome;
  /** What did not pass. */
  readonly message: string;
}

export interface AskedMeasurement {
  /** No two measurements have the same one. */
  readonly id: string;
  readonly begin: () => Measurement;
}

/** What a pass needs of it. */
export interface Measurements<Key extends string> {
  /** Names this process in what is saved; undefined: it measures nothing. */
  readonly by: string | undefined;
  /** Begins what it does not know, and forgets what is not among them. The results of those that are finished. */
  take(key: Key, asked: readonly AskedMeasurement[]): ReadonlyMap<string, readonly CheckResult[]>;
}

/** For a preview of the fleet. */
export const noMeasurements: Measurements<string> = { by: undefined, take: () => new Map() };

interface UnderWay {
  readonly ended: AbortController;
  results: readonly CheckResult[] | undefined;
}

export interface MeasurementWatchOptions<Key> {
  /** Draws the name of the process, when it first measures. */
  readonly draw: () => string;
  readonly probe: EndpointProbe;
  /** Undefined: the process has no address of a Prometheus. */
  readonly prometheus: PrometheusQueries | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onFinished: (key: Key) => void;
}

const longestMs = 120_000;

type Answer = Omit<CheckResult, 'check'>;

export class MeasurementWatch<Key extends string> implements Measurements<Key> {
  readonly #options: MeasurementWatchOptions<Key>;
  readonly #underWay = new Map<Key, Map<string, UnderWay>>();
  #by: string | undefined;

  constructor(options: MeasurementWatchOptions<Key>) {
    this.#options = options;
  }

  get by(): string {
    this.#by ??= this.#options.draw();
    return this.#by;
  }

  take(key: Key, asked: readonly AskedMeasurement[]): ReadonlyMap<string, readonly CheckResult[]> {
    const known = this.#underWay.get(key) ?? new Map<string, UnderWay>();
    const ids = new Set(asked.map(({ id }) => id));
    for (const [id, { ended }] of known) {
      if (ids.has(id)) continue;
      ended.abort();
      known.delete(id);
    }
    for (const { id, begin } of asked) {
      if (known.has(id)) continue;
      const underWay: UnderWay = { ended: new AbortController(), results: undefined };
      known.set(id, underWay);
      void this.#run(key, begin(), underWay);
    }
    if (known.size === 0) this.#underWay.delete(key);
    else this.#underWay.set(key, known);
    return new Map([...known].flatMap(([id, { results }]) => (results ? [[id, results] as const] : [])));
  }

  async stop(): Promise<void> {
    for (const key of this.#underWay.keys()) this.take(key, []);
    await Promise.all([this.#options.probe.close(), this.#options.prometheus?.close()]);
  }

  async #run(key: Key, measurement: Measurement, underWay: UnderWay): Promise<void> {
    const { signal } = underWay.ended;
    const untilMs = this.#options.clock.monotonicMs() + longestMs;
    const commands = this.#commands(measurement, signal, untilMs);
    const results = await Promise.all(
      measurement.checks.map(async (check, index): Promise<CheckResult> => {
        const { outcome, message } = worstOf(
          await this.#answers(measurement, check, commands, index, signal),
        );
        return { check: check.kind, outcome, message };
      }),
    );
    if (signal.aborted) return;
    underWay.results = results;
    this.#options.onFinished(key);
  }

  async #answers(
    { replicas }: Measurement,
    check: Check,
    commands: Promise<readonly (readonly Answer[])[]>,
    index: number,
    signal: AbortSignal,
  ): Promise<readonly Answer[]> {
    if (check.kind === 'exec') return (await commands)[index] ?? [];
    if (check.kind === 'prometheus') return [await this.#query(check, signal)];
    return Promise.all(replicas.map((replica) => this.#ask(check, replica, signal)));
  }

  /** One after the other; by the index of the check. */
  async #commands(
    measurement: Measurement,
    signal: AbortSignal,
    untilMs: number,
  ): Promise<readonly (readonly Answer[])[]> {
    const { logger } = this.#options;
    const answers: Answer[][] = measurement.checks.map(() => []);
    for (const [index, check] of measurement.checks.entries()) {
      if (check.kind !== 'exec') continue;
      for (const replica of measurement.replicas) {
        const isMeant = () =>
          !signal.aborted && this.#options.clock.monotonicMs() < untilMs && measurement.isMeant();
        const key = measurement.keyOf(index, replica.name);
        const answer = execute(check, replica, { isMeant, key, logger });
        // oxlint-disable-next-line no-await-in-loop -- one after the other, see above
        answers[index]?.push(await this.#inTime(answer, untilMs + execAnswerMs(check), signal));
      }
    }
    return answers;
  }

  /** Its turn may come much later. It is not sent then. */
  async #inTime(answer: Promise<Answer>, untilMs: number, signal: AbortSignal): Promise<Answer> {
    const { clock } = this.#options;
    const answered = new AbortController();
    const late = sleep(clock, untilMs - clock.monotonicMs(), AbortSignal.any([signal, answered.signal]));
    const first = await Promise.race([answer, late]);
    answered.abort();
    return first ?? { outcome: 'inconclusive', message: 'its turn did not come in time' };
  }

  async #ask(
    { path, timeoutMs, expects }: Extract<Check, { kind: 'http' }>,
    { name, endpoint, loopback, namespace }: MeasuredReplica,
    signal: AbortSignal,
  ): Promise<Answer> {
    if (endpoint === undefined)
      return { outcome: 'inconclusive', message: `replica ${name} has no endpoint` };
    const url = endpoint.replace(/\/+$/, '') + path;
    const target = { url, timeoutMs, loopback, expects, namespace, isFirst: true };
    const result = await this.#options.probe.probe(target, signal);
    if (result.ready) return { outcome: 'passed', message: '' };
    const outcome = result.isUnasked ? 'inconclusive' : 'failed';
    return { outcome, message: `replica ${name}: ${result.message}` };
  }

  async #query(
    { query, min = -Infinity, max = Infinity }: Extract<Check, { kind: 'prometheus' }>,
    signal: AbortSignal,
  ): Promise<Answer> {
    const { prometheus } = this.#options;
    if (!prometheus) {
      const message = 'this process has no address of a Prometheus; start it with --analysis-prometheus';
      return { outcome: 'inconclusive', message };
    }
    const answer = await prometheus.ask(query, signal);
    if ('problem' in answer) return { outcome: 'inconclusive', message: answer.problem };
    const { number } = answer;
    if (number >= min && number <= max) return { outcome: 'passed', message: '' };
    const bound = number < min ? `less than ${min}` : `more than ${max}`;
    return { outcome: 'failed', message: `${number} is ${bound}` };
  }
}

async function execute(
  check: Extract<Check, { kind: 'exec' }>,
  { name, id, api, isRunning }: MeasuredReplica,
  {
    isMeant,
    key,
    logger,
  }: { readonly isMeant: () => boolean; readonly key: string; readonly logger: Logger },
): Promise<Answer> {
  const inconclusive = (what: string): Answer => ({
    outcome: 'inconclusive',
    message: `replica ${name}: ${what}`,
  });
  if (id === undefined || !api || !isRunning) return inconclusive('it does not run');
  if (!isMeant()) return inconclusive('the command was not sent');
  const { command, timeoutSeconds } = check;
  try {
    const outcome = await api.providedThat(isMeant).exec(id, { command, timeoutSeconds }, key);
    logger.info({ id, idempotencyKey: key, outcome: outcome.kind }, 'command of an analysis');
    if (outcome.kind !== 'applied') return inconclusive(describeOutcome(outcome));
    const exitCode = readExecAnswer(outcome.value)?.exitCode;
    if (exitCode === undefined) return inconclusive('the answer does not show the exit code of the command');
    if (exitCode === 0) return { outcome: 'passed', message: '' };
    return { outcome: 'failed', message: `replica ${name}: the command ends with exit code ${exitCode}` };
  } catch (error) {
    return inconclusive(`the command was not sent, or its answer not read: ${messageOf(error)}`);
  }
}

const order: readonly CheckOutcome[] = ['failed', 'inconclusive', 'passed'];

/** Nothing was asked where nothing answered. */
export function worstOf<Each extends Answer>(answers: readonly Each[]): Each | Answer {
  for (const outcome of order) {
    const found = answers.find((answer) => answer.outcome === outcome);
    if (found) return found;
  }
  return { outcome: 'inconclusive', message: 'nothing was measured' };
}
