import type { wire } from '../../api/index.ts';
import { describeCause } from '../plan/index.ts';
import type { ObjectKey } from '../../resources/index.ts';
import type { AccountHandle } from '../accounts.ts';
import type { Pass } from '../pass.ts';

interface Read {
  readonly id: string;
  readonly revision: number | undefined;
  /** Undefined: the events say nothing. */
  readonly text: string | undefined;
}

/**
 * Why a service is in error, where the API shows no `error`: its events (§6) are read once for each revision in that state. Lost at a restart,
 * after which they are read once more.
 */
export class ErrorReasons {
  readonly #read = new Map<ObjectKey, Read>();

  forget(key: ObjectKey): void {
    this.#read.delete(key);
  }

  /** What was observed says why, where anything is known. */
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
      // What could not be asked is asked again.
      if (outcome?.kind === 'not-sent' || outcome?.kind === 'unknown') return;
      const events = outcome?.kind === 'applied' ? outcome.value : [];
      const window = { baseline, revision, sinceMs: undefined };
      read = { id, revision, text: describeCause(events, window, pass.secrets()) };
      this.#read.set(key, read);
    }
    if (read.text !== undefined) pass.explain(`its events say: ${read.text}`);
  }
}
