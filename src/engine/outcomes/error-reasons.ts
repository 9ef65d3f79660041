import type { wire } from '../../api/index.ts';
import { describeCause } from '../plan/index.ts';
import type { ObjectKey } from '../../resources/index.ts';
import type { AccountHandle } from '../accounts.ts';
import type { Pass } from '../pass.ts';

interface Read {
  readonly id: string;
  readonly revision: number | undefined;
  /** Undefined: the events report nothing. */
  readonly text: string | undefined;
}

/**
 * Why a service is in an error state, if the API shows no `error`. Its events (§6) are read once for each
 * revision in that state, and once more after a restart.
 */
export class ErrorReasons {
  readonly #read = new Map<ObjectKey, Read>();

  forget(key: ObjectKey): void {
    this.#read.delete(key);
  }

  /** The observation explains the error, if anything is known. */
  async explain(pass: Pass, account: AccountHandle): Promise<void> {
    const observation = pass.observation();
    if (observation.kind !== 'present' || !pass.reportsEvents) return;
    const { key, baseline } = pass.record();
    const service = observation.value as wire.Service;
    if (service.state !== 'error') this.forget(key);
    if (service.state !== 'error' || service.error) return;
    const { id, revision } = service;
    let read = this.#read.get(key);
    if (read?.id !== id || read.revision !== revision) {
      const outcome = await pass.events(account);
      // Try again: the API was not reached.
      if (outcome?.kind === 'not-sent' || outcome?.kind === 'unknown') return;
      const events = outcome?.kind === 'applied' ? outcome.value : [];
      const window = { baseline, revision, sinceMs: undefined };
      read = { id, revision, text: describeCause(events, window, pass.secrets()) };
      this.#read.set(key, read);
    }
    if (read.text !== undefined) pass.explain(`its events report: ${read.text}`);
  }
}
