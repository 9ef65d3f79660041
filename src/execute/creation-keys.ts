/**
 * The Idempotency-Keys of creations. A state whose digest key others may have, too, derives them: two processes that know nothing
 * of each other then send the same request under the same key, and the API makes one thing of it.
 *
 *     key = UUID of HMAC-SHA-256(digest key, all of the following)
 *
 * | part          | sets apart                                                                                        |
 * |---------------|---------------------------------------------------------------------------------------------------|
 * | owner, uid    | fleets, and objects of a fleet                                                                    |
 * | identity      | accounts: the identity that the API shows, or, where it shows none, a digest of the credential    |
 * | action        | requests: every byte of the body follows from it, secrets included; hence the HMAC                |
 * | after         | the thing that stood for the object before and is gone: its id                                    |
 * | refused       | the creation that was refused before: an API may keep that answer, too                            |
 * | epoch         | objects that this state has forgotten, and that have been declared again since                    |
 *
 * The last three are the incarnation. All of them are known to a state, or can be seen at the provider, except for one case: a thing was
 * made, deleted by somebody else, and the state was lost. Then the API answers with the id of the deleted thing, which no read
 * shows. That is believed after `visibilitySeconds`, as of any creation that was answered and never seen (reconcile/creations.ts), and the
 * next key comes after that id.
 *
 * An API may refuse a key that it has seen, also with the same body. Then another process may have used it a moment ago, or an earlier
 * one for a thing that is gone: the creation is in doubt as one without an answer, and the next key follows when the doubt ends.
 *
 * A state with a digest key of its own gains nothing by that, since its marks, and so its bodies, are like no other's. Its
 * keys are random, as are those of everything but creations: a patch carries a revision, and what carries none (actions, the sleep
 * policy, deletions) names an id, and asks for a state in which the thing may be already.
 */
import { isCreation } from '../actions/index.ts';
import { uuidOf } from '../base/index.ts';
import type { Action } from '../plan/index.ts';
import type { ObjectRecord, StateStore } from '../state/index.ts';
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
