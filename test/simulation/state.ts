/** What a manager has made durable, in whatever place it keeps that: the state file, or the objects of a cluster. */
import type { DigestKey } from '../../src/base/index.ts';
import type { ObjectKey } from '../../src/resources/index.ts';
import type { IdentityPin, Intent, ObjectRecord, OwnerRevision } from '../../src/state/index.ts';

export interface StateOwner {
  readonly digestKey: DigestKey;
  readonly ownerName: string;
  readonly ownerConfirmed: boolean;
  readonly isKeyShared?: boolean;
}

export interface DurableState {
  readonly owner: StateOwner;
  record(key: ObjectKey): ObjectRecord | undefined;
  records(): ObjectRecord[];
  /** The newest one of each object. */
  intents(): Intent[];
  intent(key: ObjectKey): Intent | undefined;
  revisions(): ReadonlyMap<ObjectKey, readonly OwnerRevision[]>;
}

/** One durable write. */
export type Write =
  | {
      readonly kind: 'save';
      readonly records: readonly ObjectRecord[];
      readonly intent?: Intent;
      /** Of the account that it is the object of, where the pin lies there. */
      readonly pin?: IdentityPin;
      /** All that is written. */
      readonly text: string;
      /** Milliseconds since the beginning of the run: when it was asked for, where that may be long before. */
      readonly askedAtMs?: number;
      /** Who writes, where there may be several. */
      readonly life?: number;
    }
  | {
      readonly kind: 'remove';
      readonly key: ObjectKey;
      readonly epoch?: string | undefined;
      readonly left?: { readonly uid: string; readonly until: number | undefined } | undefined;
    }
  /** Of the fleet: all of its revisions. */
  | { readonly kind: 'revisions'; readonly key: ObjectKey; readonly text: string }
  | { readonly kind: 'pin'; readonly account: string; readonly pin: IdentityPin | undefined };

export function hasOpenOutcome({ outcome }: Intent): boolean {
  return outcome === 'pending' || outcome === 'unknown';
}
