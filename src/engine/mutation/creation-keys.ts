/**
 * The Idempotency-Keys of creations. A state derives them if others may have its digest key. Then two processes
 * without knowledge of each other send the same request with the same key, and the API creates one thing.
 *
 *     key = UUID of HMAC-SHA-256(digest key, all of the following)
 *
 * | part          | distinguishes                                                                                     |
 * |---------------|---------------------------------------------------------------------------------------------------|
 * | owner, uid    | fleets, and objects of a fleet                                                                    |
 * | identity      | accounts: the identity that the API shows, or, where it shows none, a digest of the credential    |
 * | action        | requests: every byte of the body follows from it, secrets included; hence the HMAC                |
 * | after         | the id of the object's previous thing, which is gone                                              |
 * | refused       | the previous creation, which was refused: an API may keep that answer, too                        |
 * | epoch         | objects that this state has forgotten, and that have been declared again since                    |
 *
 * The last three are the incarnation. A state knows all of them, or the provider shows them, with one exception: a
 * thing was created, deleted by somebody else, and the state was lost. Then the API answers with the id of the
 * deleted thing, which no read shows. As for any creation that was answered and never seen, that counts after
 * `visibilitySeconds` (engine/outcomes/creations.ts). The next key comes after that id.
 *
 * An API may refuse a key that it has seen, also with the same body. Then another process may have used it a moment
 * ago, or an earlier one for a thing that is gone. The outcome of the creation is unknown, and the next key follows
 * when it is settled.
 *
 * A state with its own digest key gains nothing by that, since its marks, and so its bodies, are unique. Its keys are
 * random. So are those of all other mutations: a patch carries a revision, and a request without one (actions, the
 * sleep policy, deletions) names an id, and requests a state that the thing may already have.
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

/** Undefined: the key has to be a random one. `identity`: of the account at the provider. */
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
