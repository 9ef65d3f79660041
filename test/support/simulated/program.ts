/**
 * The command line in a simulated world: `runCommandLine` with a context of its own. Its life is that of
 * a process:
 *
 *     starting (startMs) ──> running ── runCommandLine ends ──> ended (its exit code)
 *                               └── SIGKILL ──> killed: no timer fires, no answer arrives, its files are taken back
 */
import type { Context } from '../../../src/cli/context.ts';
import type { HealthServer } from '../../../src/cli/ports.ts';
import { runCommandLine } from '../../../src/cli/program.ts';
import { giveSigns, lockState, openState } from '../../../src/state/index.ts';
import { randomPort, stream } from '../../simulation/random-port.ts';
import { Life } from '../../simulation/scheduler.ts';
import { Terminal } from '../terminal.ts';
import type { Finished, Program } from '../world.ts';
import type { SimulatedFolders } from './folders.ts';
import { hostOf, type SimulatedNetwork } from './network.ts';
import type { SimulatedTime } from './time.ts';

export interface ProgramParts {
  readonly time: SimulatedTime;
  readonly network: SimulatedNetwork;
  readonly folders: SimulatedFolders;
  /** Of this process, and of no other of this world. */
  readonly pid: number;
}

/** Node's, with our code. */
const startMs = 100;
/** The longest that a command is waited for. */
const patienceMs = 900_000;

export class SimulatedProgram implements Program {
  readonly pid: number;
  readonly #parts: ProgramParts;
  readonly #life: Life;
  readonly #stopping = new AbortController();
  readonly #ended = Promise.withResolvers<void>();
  readonly #gone = Promise.withResolvers<undefined>();
  /** What the operating system takes back. */
  readonly #held = new Set<() => void>();
  readonly #waiters = new Set<() => void>();
  #taker: ((signal: NodeJS.Signals) => void) | undefined;
  #code: number | null = null;
  #killed = false;
  stdout = '';
  stderr = '';
  /** Both are shown there, if the environment has its COLUMNS and LINES. */
  terminal: Terminal | undefined;

  constructor(args: readonly string[], environment: Readonly<Record<string, string>>, parts: ProgramParts) {
    const { time, pid } = parts;
    this.#parts = parts;
    this.pid = pid;
    this.#life = new Life(time.scheduler, () => time.wallMs + time.aheadMs, pid * 1000);
    const context = this.#context(environment);
    this.#life.after(startMs, () => {
      runCommandLine(args, context).then(
        (code) => this.#end(code),
        (error: unknown) => {
          this.stderr += `${error instanceof Error ? error.stack : String(error)}\n`;
          this.#end(1);
        },
      );
    });
  }

  get running(): boolean {
    return !this.#life.isOver;
  }

  get killed(): boolean {
    return this.#killed;
  }

  line(pattern: RegExp): Promise<RegExpExecArray> {
    const { promise, resolve, reject } = Promise.withResolvers<RegExpExecArray>();
    const look = () => {
      const lines = this.stdout.split('\n').slice(0, -1);
      const match = lines.map((line) => pattern.exec(line)).find((found) => found !== null);
      if (match) resolve(match);
      else if (!this.running) {
        reject(new Error(`ended without printing ${pattern}\n${this.stdout}\n${this.stderr}`));
      }
    };
    this.#waiters.add(look);
    look();
    return this.#patiently(promise, `a line ${pattern}`).finally(() => this.#waiters.delete(look));
  }

  async finished(): Promise<Finished> {
    await this.#patiently(this.#ended.promise, 'the end of the program');
    return { code: this.#code, stdout: this.stdout, stderr: this.stderr };
  }

  async kill(signal: NodeJS.Signals): Promise<Finished> {
    if (this.running && signal === 'SIGKILL') {
      this.#killed = true;
      this.#end(null);
    }
    if (this.running && this.#taker) this.#taker(signal);
    else this.#stopping.abort();
    return this.finished();
  }

  #patiently<Result>(work: Promise<Result>, what: string): Promise<Result> {
    const { time } = this.#parts;
    const { promise: late, reject } = Promise.withResolvers<never>();
    const limit = time.scheduler.after(patienceMs, () =>
      reject(new Error(`not within ${patienceMs / 1000} s: ${what}\n${this.stdout}\n${this.stderr}`)),
    );
    return time.drive(Promise.race([work, late])).finally(() => limit.cancel());
  }

  #end(code: number | null): void {
    if (!this.running) return;
    this.#code = code;
    this.#life.end();
    this.#gone.resolve(undefined);
    for (const takeBack of this.#held) takeBack();
    this.#held.clear();
    this.#ended.resolve();
    for (const look of this.#waiters) look();
  }

  #context(environment: Readonly<Record<string, string>>): Context {
    const { network, folders, pid } = this.#parts;
    const life = this.#life;
    const dispatcher = network.dispatcher((delayMs, run) => life.after(delayMs, run));
    this.#held.add(() => dispatcher.cut());
    const { COLUMNS, LINES } = environment;
    if (COLUMNS && LINES) this.terminal = new Terminal(Number(COLUMNS), Number(LINES));
    const say = (onto: 'stdout' | 'stderr') => (text: string | Uint8Array) => {
      if (life.isOver) return true;
      this.terminal?.write(text);
      this[onto] += text.toString();
      for (const look of this.#waiters) look();
      return true;
    };
    return {
      environment,
      stdin: { isTTY: false } as NodeJS.ReadStream,
      stdout: streamOf(this.terminal, say('stdout')),
      stderr: streamOf(this.terminal, say('stderr')),
      command: 'fleetkeeper',
      clock: life.clock,
      random: randomPort(stream(pid, 'process')),
      pid,
      hostname: 'simulated',
      stopped: this.#stopping.signal,
      unread: new AbortController().signal,
      takeSignals: (taker) => {
        this.#taker = taker;
        return () => (this.#taker = undefined);
      },
      ports: {
        network: {
          createTransport: (_clock, limits) => network.transport(life, limits),
          createEndpointProbe: () => network.probe(life),
          createSinkTransport: () => network.sinks(life),
          dispatcher,
        },
        watchFolder: folders.watchFor(life),
        listen: (server, address) => this.#listen(server, address.port),
        log: { write: (line) => void say('stderr')(line) },
        stateFiles: this.#stateFiles(),
      },
    };
  }

  async #listen(server: HealthServer, port: number): Promise<string> {
    const { network } = this.#parts;
    await server.ready();
    const url = network.open(hostOf(server, this.#gone.promise), port);
    this.#held.add(() => network.close(url));
    return url;
  }

  #stateFiles(): NonNullable<NonNullable<Context['ports']>['stateFiles']> {
    const keep = (takeBack: () => void) => {
      this.#held.add(takeBack);
      return () => {
        if (this.#held.delete(takeBack)) takeBack();
      };
    };
    return {
      lockState: (...given) => {
        const lock = lockState(...given);
        return { release: keep(() => lock.release()) };
      },
      openState: (...given) => {
        const state = openState(...given);
        return { store: state.store, close: keep(() => state.close()) };
      },
      giveSigns: (...given) => {
        const stop = giveSigns(...given);
        // A killed process records no end.
        return () => (this.#life.isOver ? undefined : stop());
      },
    };
  }
}

function streamOf(
  terminal: Terminal | undefined,
  write: (text: string | Uint8Array) => boolean,
): NodeJS.WriteStream {
  if (!terminal) return { write, isTTY: false } as unknown as NodeJS.WriteStream;
  const own = { write: { value: write } };
  return Object.create(terminal.stream, own) as NodeJS.WriteStream;
}
