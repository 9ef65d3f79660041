/**
 * Changes that a cluster refuses, beside rules for a document by itself: fields that are fixed once the thing exists
 * at the provider (`status.id`). A folder can't refuse an edit; there the planners hold it (`ImmutableFieldChanged`,
 * `ShrinkRefused`). They also do so in a cluster with edits that these rules let pass: those made before the id was
 * known, and those that only the provider can judge.
 *
 * A field that is written as the provider shows it (`status`) changes nothing, in whatever form it was requested.
 *
 * An object that is held as `ImmutableFieldChanged` may be edited freely: otherwise the edit that corrects it would
 * be refused.
 */
import type { ReasonOf } from '../../reasons/index.ts';
import type { CelRule } from './constraints.ts';

const heldFor: ReasonOf<'held'> = 'ImmutableFieldChanged';
/** In CEL: there is nothing yet that the field could be fixed by, or a person has to correct it. */
export const isFree =
  '!has(oldSelf.status) || !has(oldSelf.status.id) || ' +
  `(has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.reason == '${heldFor}'))`;
export const takeBack = 'take the change back';

export function fixed(noun: string, field: string, same: string): CelRule {
  return {
    rule: `${isFree} || ${same}`,
    message: `${field} of a ${noun} that exists can't be changed; ${takeBack}`,
    fieldPath: `.spec.${field}`,
  };
}

export const bothGive = (field: string) => `(has(self.${field}) && has(oldSelf.${field}))`;
export const unchanged = (field: string) => `self.${field} == oldSelf.${field}`;
/** Given by both alike, or by none. */
export const alike = (field: string) =>
  `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || ${unchanged(field)})`;
export const orDefault = (self: string, field: string, value: string) =>
  `(has(${self}.spec.${field}) ? ${self}.spec.${field} : ${value})`;

export const sameAccount = unchanged('spec.accountRef.name');
/** As the provider shows it. There is a status: the rule is not asked before. */
export const asShown = (field: string, status = field) =>
  `(has(self.spec.${field}) && has(oldSelf.status.${status}) && self.spec.${field} == oldSelf.status.${status})`;
export const sameRegion = `${unchanged('spec.region')} || ${asShown('region')}`;
/** `auto` is any place, also the one that was asked for before. */
export const sameGeography =
  `${orDefault('self', 'geography', "'auto'")} == 'auto' || ` +
  `${alike('spec.geography')} || ${asShown('geography')}`;
