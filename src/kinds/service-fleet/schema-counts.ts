/** Numbers of replicas, as people write them. */
import { z } from 'zod';
import { withRules } from '../../resources/parts/constraints.ts';

export const replicasAtMost = 1000;

const percent = /^(?:100|[1-9]?[0-9])%$/;
const countMessage = 'must be a whole number from 0 to 1000, or a text such as "25%"';

/** A number of replicas, or a share of those that are wanted. */
export const countOrShare = withRules(
  z
    .union([z.int().min(0).max(replicasAtMost), z.string().max(4).regex(percent, countMessage)], {
      error: countMessage,
    })
    .meta({ 'x-kubernetes-int-or-string': true }),
  [
    {
      rule: `type(self) == int ? self >= 0 && self <= ${replicasAtMost} : self.matches('^(100|[1-9]?[0-9])%$')`,
      message: countMessage,
    },
  ],
  [],
);
export type CountOrShare = z.infer<typeof countOrShare>;
