/** Changes of a service that a cluster refuses. */
import {
  alike,
  asShown,
  bothGive,
  fixed,
  isFree,
  orDefault,
  sameAccount,
  sameGeography,
  sameRegion,
  takeBack,
  unchanged,
} from '../../resources/parts/transitions.ts';
import type { CelRule } from '../../resources/parts/constraints.ts';

const isReplaced = "self.spec.replacement == 'Recreate'";

function fixedUnlessReplaced(field: string, same: string): CelRule {
  return {
    rule: `${isFree} || ${isReplaced} || ${same}`,
    message: `${field} can't be changed on a service that exists; ${takeBack}, or say \`replacement: Recreate\` to have it deleted and created again`,
    fieldPath: `.spec.${field}`,
  };
}

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

export const serviceTransitions: readonly CelRule[] = [
  fixed('service', 'accountRef', sameAccount),
  fixedUnlessReplaced('serviceName', sameName),
  fixedUnlessReplaced('region', sameRegion),
  fixedUnlessReplaced('geography', sameGeography),
  fixedUnlessReplaced('storage', sameStorage),
];
