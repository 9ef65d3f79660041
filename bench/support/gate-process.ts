import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

export interface Passed {
  /** All that came, and those of them that were answered 429. */
  readonly requests: number;
  readonly refused: number;
  /** Services that the control plane created; the seconds from the first request to the answer to the last of them. */
  readonly creates: number;
  readonly seconds: number;
}

/** See gate.ts. */
export class GateProcess {
  readonly #child: ChildProcess;
  readonly url: string;

  static async start(target: string, rate: Rate): Promise<GateProcess> {
    const child = fork(path.join(import.meta.dirname, 'gate.ts'), [target]);
    process.once('exit', () => child.kill('SIGKILL'));
    const [url] = (await once(child, 'message')) as [string];
    child.send(rate);
    return new GateProcess(child, url);
  }

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  setRate(rate: Rate): void {
    this.#child.send(rate);
  }

  async passed(): Promise<Passed> {
    this.#child.send('passed');
    const [passed] = (await once(this.#child, 'message')) as [Passed];
    return passed;
  }

  end(): void {
    this.#child.kill('SIGKILL');
  }
}
