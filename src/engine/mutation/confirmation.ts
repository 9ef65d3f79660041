/**
 * What the response to a request shows of the fields that were sent. It results from that request alone, so its values are
 * what the API made of them:
 *
 * | the response shows the field    | what is recorded                                                         |
 * |---------------------------------|--------------------------------------------------------------------------|
 * | as sent                         | it is in place                                                           |
 * | in another form than before     | the API has its own form for the value, which is equal (`shownAs`)       |
 * | in a form known to be its own   | it is in place                                                           |
 * | as before, which may be a form of what was sent | the same: a lost response could not have shown it        |
 * | as before, or not at all        | a read has to confirm it (`unconfirmed`); until then, it is not drift    |
 */
import { entryOfAction, type Action } from '../../actions/index.ts';
import type { ObjectRecord, ShownAs } from '../../state/index.ts';
import type { Target } from './executor.ts';
import type { Receipt } from './requests.ts';

type Confirmation = Pick<ObjectRecord, 'unconfirmed' | 'shownAs'>;

export function confirm(
  record: ObjectRecord,
  names: readonly string[],
  { digests, shownBefore = {}, shownIn = () => ({}), formsIn = () => [] }: Target,
  answer: Receipt,
): Confirmation {
  const shownAfter = shownIn(answer);
  const forms = new Set(formsIn(answer));
  const unconfirmed = new Set(record.unconfirmed);
  const shownAs: Record<string, ShownAs> = { ...record.shownAs };
  for (const name of names) {
    const desired = digests[name];
    if (desired === undefined) continue;
    const observed = shownAfter[name];
    const known = record.shownAs[name];
    unconfirmed.delete(name);
    if (known && known.desired === desired && known.observed === observed) continue;
    delete shownAs[name];
    if (observed === desired) continue;
    const isUnmoved = observed === shownBefore[name] && !forms.has(name);
    if (observed === undefined || isUnmoved) unconfirmed.add(name);
    else shownAs[name] = { desired, observed };
  }
  return { unconfirmed: [...unconfirmed], shownAs };
}

/** Of the fields that the action can set, those that this request contains. */
export function fieldsSent(action: Action, fields: readonly string[]): readonly string[] {
  const entry = entryOfAction(action);
  return entry.isSent ? fields.filter((name) => entry.isSent?.(action, name)) : fields;
}
