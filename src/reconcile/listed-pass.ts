/**
 * What the passes of templates and registries share: the API has a list of each, and no read of a single one. An
 * object that is in the list is read by reading the list.
 */
import type { Outcome, wire } from '../api/index.ts';
import type { AccountSnapshot, Listing } from '../observed/index.ts';
import { waitFor } from '../plan/index.ts';
import type { ObjectRecord } from '../state/index.ts';
import type { AccountHandle } from './accounts.ts';
import type { Observed } from './observe.ts';
import { itemsOf } from './references.ts';
import { RemotePass } from './remote-pass.ts';

export abstract class ListedPass<Remote extends wire.Template | wire.Registry> extends RemotePass<Remote> {
  protected abstract listing(snapshot: AccountSnapshot): Listing<Remote>;
  protected abstract list(account: AccountHandle): Promise<Outcome<wire.Shown<Remote>>>;
  protected abstract find(items: ReadonlyMap<string, Remote>, madeId: string | undefined): Observed<Remote>;

  /** A list that can't be read says nothing of what is in it, as an account that can't be read. */
  override account() {
    const found = super.account();
    const current = found.handle?.informer.current;
    const listing = current && this.listing(current);
    if (found.problem || listing?.kind !== 'failed') return found;
    return { ...found, problem: waitFor('ApiUnreachable', listing.message) };
  }

  protected shown(snapshot: AccountSnapshot): ReadonlyMap<string, Remote> {
    return itemsOf(this.listing(snapshot));
  }

  protected identify(snapshot: AccountSnapshot, madeId?: string): Observed<Remote> {
    const listing = this.listing(snapshot);
    if (listing.kind === 'read') return this.find(listing.items, madeId);
    const message = listing.kind === 'failed' ? listing.message : 'waiting for the list to be read';
    return { observation: { kind: 'pending', message }, found: undefined, byMark: false };
  }

  protected unidentified(snapshot: AccountSnapshot): readonly wire.Unidentified<Remote>[] {
    const listing = this.listing(snapshot);
    return listing.kind === 'read' ? (listing.unidentified ?? []) : [];
  }

  protected async read(account: AccountHandle, id: string): Promise<Outcome<Remote>> {
    const outcome = await this.list(account);
    if (outcome.kind !== 'applied') return outcome;
    const item = outcome.value.items.find((candidate) => candidate.id === id);
    if (item) return { ...outcome, value: item };
    if (outcome.value.unidentified.length > 0) {
      return { kind: 'unknown', reason: `a list without ${id}, in which not all entries can be identified` };
    }
    const message = `${id} is not in the list`;
    const meaning = 'NotFound';
    return { kind: 'refused', status: 404, code: 'not_listed', message, meaning, retryAfterMs: undefined };
  }

  protected bound(id: string, _byMark: boolean): Partial<ObjectRecord> {
    return { externalId: id, deletedByUs: false };
  }

  async readActivities(): Promise<undefined> {
    return undefined;
  }
}
