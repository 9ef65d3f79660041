/** What clients send, and what the oracle has to know of it. */

/** Whatever is sent or answered. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any;

export type Kind = 'service' | 'volume' | 'template' | 'registry';

export interface SoakRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: Json;
  /** The object that it reads or changes. */
  readonly about?: string;
  /** What its answer holds: objects of these kinds. */
  readonly answers?: Kind | 'account' | 'volumes' | 'templates' | 'registries' | 'activities' | 'deletion';
  /** The fields that it sets, as the answer shows them. */
  readonly sets?: Readonly<Record<string, Json>>;
  readonly removes?: boolean;
  readonly activity?: { readonly id: string; readonly release: boolean };
  /** Of another account: it must look as if there were nothing. */
  readonly isForeign?: boolean;
}

export interface SentRequest extends SoakRequest {
  readonly account: string;
  /** Of a mutation. */
  readonly key: string | undefined;
}

export interface Reply {
  readonly status: number;
  readonly text: string;
  readonly body: Json;
  /** Whether it is a stored answer to an earlier delivery. */
  readonly isReplay: boolean;
}

/** In no answer may this occur; everything that is to stay secret contains it. */
export const canary = 'canary';

/** Thrown for whatever the control plane must not do. */
export class Violation extends Error {
  override readonly name = 'Violation';
}

export function requireThat(condition: boolean, problem: () => string): void {
  if (!condition) throw new Violation(problem());
}
