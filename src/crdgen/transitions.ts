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
import type { ReasonOf } from '../reasons/index.ts';
import type { CelRule, ManagedKind } from '../resources/index.ts';

const heldFor: ReasonOf<'held'> = 'ImmutableFieldChanged';
/** In CEL: there is nothing yet that the field could be fixed by, or a person has to correct it. */
const isFree =
  '!has(oldSelf.status) || !has(oldSelf.status.id) || ' +
  `(has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.reason == '${heldFor}'))`;
const isReplaced = "self.spec.replacement == 'Recreate'";
const takeBack = 'take the change back';

function fixed(noun: string, field: string, same: string): CelRule {
  return {
    rule: `${isFree} || ${same}`,
    message: `${field} of a ${noun} that exists can't be changed; ${takeBack}`,
    fieldPath: `.spec.${field}`,
  };
}

function fixedUnlessReplaced(field: string, same: string): CelRule {
  return {
    rule: `${isFree} || ${isReplaced} || ${same}`,
    message: `${field} can't be changed on a service that exists; ${takeBack}, or say \`replacement: Recreate\` to have it deleted and created again`,
    fieldPath: `.spec.${field}`,
  };
}

const bothGive = (field: string) => `(has(self.${field}) && has(oldSelf.${field}))`;
const unchanged = (field: string) => `self.${field} == oldSelf.${field}`;
/** Given by both alike, or by none. */
const alike = (field: string) =>
  `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || ${unchanged(field)})`;
const orDefault = (self: string, field: string, value: string) =>
  `(has(${self}.spec.${field}) ? ${self}.spec.${field} : ${value})`;

const sameAccount = unchanged('spec.accountRef.name');
/** As the provider shows it. There is a status: the rule is not asked before. */
const asShown = (field: string, status = field) =>
  `(has(self.spec.${field}) && has(oldSelf.status.${status}) && self.spec.${field} == oldSelf.status.${status})`;
const sameRegion = `${unchanged('spec.region')} || ${asShown('region')}`;
/** `auto` is any place, also the one that was asked for before. */
const sameGeography =
  `${orDefault('self', 'geography', "'auto'")} == 'auto' || ` +
  `${alike('spec.geography')} || ${asShown('geography')}`;

/** An adopted service has the name that it has, unless the spec gives one. */
const sameName =
  `(has(self.spec.adopt) && !${bothGive('spec.serviceName')}) || ` +
  `${orDefault('self', 'serviceName', 'self.metadata.name')} == ${orDefault('oldSelf', 'serviceName', 'oldSelf.metadata.name')}`;

/**
 * Storage that is no longer spoken of stays; and a volume may be named by its object as well as by its id, also one that was made with
 * the service. Only the provider can tell whether it is that one, and which mode it has where none was given: the planner holds the rest.
 */
const sameMade =
  `${alike('spec.storage.volumeGb')} && (${alike('spec.storage.volumeMode')} || ` +
  '(has(self.spec.storage.volumeMode) && !has(oldSelf.spec.storage.volumeMode)))';
const madeIsNamed =
  'has(oldSelf.spec.storage.volumeGb) && ' +
  `(has(self.spec.storage.volumeRef) || ${asShown('storage.volumeId', 'volumeId')})`;
const sameStorage =
  `!has(self.spec.storage) || (has(oldSelf.spec.storage) && ((${madeIsNamed}) || (${sameMade} && ` +
  ['volumeId', 'volumeRef.name']
    .map((field) => {
      const [first = ''] = field.split('.');
      return `(!${bothGive(`spec.storage.${first}`)} || ${unchanged(`spec.storage.${field}`)})`;
    })
    .join(' && ') +
  ')))';

const notSmaller =
  'self.spec.sizeGb >= oldSelf.spec.sizeGb || !has(oldSelf.status) || !has(oldSelf.status.sizeGb) || ' +
  'self.spec.sizeGb >= oldSelf.status.sizeGb';

const transitions: Readonly<Record<ManagedKind, readonly CelRule[]>> = {
  Account: [],
  ContainerService: [
    fixed('service', 'accountRef', sameAccount),
    fixedUnlessReplaced('serviceName', sameName),
    fixedUnlessReplaced('region', sameRegion),
    fixedUnlessReplaced('geography', sameGeography),
    fixedUnlessReplaced('storage', sameStorage),
  ],
  StorageVolume: [
    fixed('volume', 'accountRef', sameAccount),
    fixed('volume', 'region', sameRegion),
    fixed('volume', 'geography', sameGeography),
    {
      rule: notSmaller,
      message: 'a volume never shrinks; sizeGb must be at least the size that it has (status.sizeGb)',
      fieldPath: '.spec.sizeGb',
    },
  ],
  ServiceTemplate: [fixed('template', 'accountRef', sameAccount)],
  ImageRegistry: [
    fixed('registry', 'accountRef', sameAccount),
    fixed('registry', 'repository', `${unchanged('spec.repository')} || ${asShown('repository')}`),
  ],
  ProtectedTask: [
    {
      // Also of a task that is not registered yet: its activity would go on in one service while the other is protected.
      rule: unchanged('spec.serviceRef.name'),
      message:
        "the service of a task can't be changed; delete the task, and write another one for the other service",
      fieldPath: '.spec.serviceRef',
    },
  ],
};

export function transitionRules(kind: ManagedKind): readonly CelRule[] {
  return transitions[kind];
}
