/**
 * The runtime's state of one service or volume.
 *
 *              begin(provision)            it has succeeded
 *     down ───────────────────> working ───────────────────> up ──(its container has ended)──> down
 *      ^                          │  ^                        │
 *      └──(anything else is done)─┘  └───────(begin)──────────┘
 *
 * `up`: its container should be running, at that endpoint. `working`: the latest request is being carried out; a
 * later one replaces it. Work on one subject is never done twice at a time, so a check of the container never sees
 * half a launch.
 */
import type { RuntimeRequest } from '../../domain/runtime.ts';

export interface Up {
  readonly accountId: string;
  /** Null without a port. */
  readonly endpoint: string | null;
  readonly memoryGb: number;
}

export class Subject {
  readonly id: string;
  /** Undefined while down. */
  up: Up | undefined;
  /** Of a service, as it was launched last. */
  memoryGb = 0;
  request: RuntimeRequest | undefined;
  /** Whether somebody should look if the container still runs. */
  isDoubtful = false;
  /** Settles when nothing is being done any more; undefined while nothing is. */
  work: Promise<void> | undefined;
  #interruption = new AbortController();

  constructor(id: string) {
    this.id = id;
  }

  /** Aborted when something newer is asked for. */
  get signal(): AbortSignal {
    return this.#interruption.signal;
  }

  /** Interrupts what is being done for the sake of `request`. */
  replace(request: RuntimeRequest | undefined): void {
    this.up = undefined;
    this.request = request;
    this.#interruption.abort();
    this.#interruption = new AbortController();
  }
}
