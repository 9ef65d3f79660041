/**
 * The Idempotency-Keys of creations. A state derives them if others may have its digest key. Then two processes that don't
 * know each other send the same request with the same key, and the API creates one thing.
 *
 *     key = UUID of HMAC-SHA-256(digest key, all of the following)
 *
 * | part          | distinguishes                                                                                     |
 * |---------------|---------------------------------------------------------------------------------------------------|
 * | owner, uid    | fleets, and objects of a fleet                                                                    |
 * | identity      | accounts: the identity that the API shows, or else a digest of the credential                     |
 * | action        | requests: every byte of the body follows from it, secrets included; hence the HMAC                |
 * | after         | the id of the object's previous thing, which is gone                                              |
 * | refused       | the previous creation, which was refused: an API may store that response, too                     |
 * | epoch         | objects that this state has forgotten, and that have been declared again since                    |
 *
 * The last three are the incarnation. A state knows them, or the provider shows them. There is one exception: a thing was
 * created, somebody else deleted it, and the state was lost. Then the API answers with the id of the deleted thing, which no
 * read shows. As for any creation that was answered and never seen, it counts as gone after `visibilitySeconds`
 * (engine/outcomes/creations.ts). The next key is made after that id.
 *
 * An API may refuse a known key even with the same body. Another process may have used it a moment ago, or an earlier one
 * for a thing that is gone. The outcome of the creation is unknown. The next key follows when it is settled.
 *
 * A state with its own digest key gains nothing by derived keys, since its marks, and so its bodies, are unique. Its keys are
 * random. So are those of all other mutations. They are safe without derived keys: a patch carries a revision. Actions, the
 * sleep policy and deletions name an id, and request a state that the thing may already have.
 */
import { isCreation } from '../../actions/index.ts';
import { uuidOf } from '../../base/index.ts';
import type { Action } from '../plan/index.ts';
import type { ObjectRecord, StateStore } from '../../state/index.ts';
import { plain } from './requests.ts';

type Identified = Pick<ObjectRecord, 'uid' | 'externalId' | 'refusedKey'>;

export function hasDerivedKey({ isKeyShared }: Pick<StateStore, 'isKeyShared'>, action: string): boolean {
  return isKeyShared && isCreation(action);
}

/** Undefined: the key has to be random. `identity`: of the account at the provider. */
export function creationKey(
  store: Pick<StateStore, 'ownerName' | 'digestKey' | 'isKeyShared' | 'epoch'>,
  { uid, externalId, refusedKey }: Identified,
  action: Action,
  identity: string | undefined,
): string | undefined {
  if (!hasDerivedKey(store, action.do)) return undefined;
  const { ownerName, digestKey, epoch } = store;
  const incarnation = { after: externalId, refused: refusedKey, epoch };
  return uuidOf(digestKey.sign({ owner: ownerName, uid, identity, action: plain(action), incarnation }));
}
