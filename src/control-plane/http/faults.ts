/**
 * Faults on demand, for tests of clients. The first fault of the list whose method and path match a request,
 * and whose turn it is, hits it:
 *
 * - `drop-request`: the connection is cut, nothing is processed;
 * - `drop-response`: the request is processed and committed, then the connection is cut without an answer;
 * - `delay`: the request waits `delayMs` of real time, and is then processed;
 * - `status`: answered with `status` instead of being processed: with `code` in the API's error form, without
 *   as a page that is not JSON, as proxies send it; `retryAfter` (seconds) becomes the header.
 *
 * `times` bounds how many requests a fault hits; `every: N` makes it hit only each N-th match, from the N-th.
 */
import { z } from 'zod';

const regularExpression = z.string().refine((text) => {
  try {
    return new RegExp(text) instanceof RegExp;
  } catch {
    return false;
  }
}, 'must be a regular expression');

const match = {
  method: z.string().min(1).optional(),
  path: regularExpression.optional(),
  times: z.int().positive().optional(),
  every: z.int().positive().optional(),
};

export const faultList = z
  .array(
    z.discriminatedUnion('fault', [
      z.strictObject({ ...match, fault: z.literal('drop-request') }),
      z.strictObject({ ...match, fault: z.literal('drop-response') }),
      z.strictObject({ ...match, fault: z.literal('delay'), delayMs: z.int().nonnegative() }),
      z.strictObject({
        ...match,
        fault: z.literal('status'),
        status: z.int().min(200).max(599),
        code: z.string().min(1).optional(),
        retryAfter: z.union([z.int(), z.string()]).optional(),
      }),
    ]),
  )
  .max(1000);
export type Fault = z.infer<typeof faultList>[number];

interface ArmedFault {
  readonly fault: Fault;
  readonly path: RegExp | undefined;
  matches: number;
  hits: number;
}

export class Faults {
  #armed: ArmedFault[] = [];

  replace(faults: readonly Fault[]): void {
    this.#armed = faults.map((fault) => ({
      fault,
      path: fault.path === undefined ? undefined : new RegExp(fault.path),
      matches: 0,
      hits: 0,
    }));
  }

  /** With how often each has hit. */
  list(): (Fault & { hits: number })[] {
    return this.#armed.map(({ fault, hits }) => ({ ...fault, hits }));
  }

  /** The fault that hits this request, counted as a hit. `path` is without the query. */
  hit(method: string, path: string): Fault | undefined {
    for (const armed of this.#armed) {
      const { fault } = armed;
      if (fault.method !== undefined && fault.method.toUpperCase() !== method) continue;
      if (armed.path && !armed.path.test(path)) continue;
      if (fault.times !== undefined && armed.hits >= fault.times) continue;
      armed.matches += 1;
      if (armed.matches % (fault.every ?? 1) !== 0) continue;
      armed.hits += 1;
      return fault;
    }
    return undefined;
  }
}
