/** The answers of the read API, as the page gets them: types only. */
import type { z } from 'zod';
import type { answers, Health, Problem, Row, Sentence, ShownIntent } from '../read-api/index.ts';

export type { Health, Problem, Row, Sentence };
export type Mutation = ShownIntent;
export type Summary = z.infer<typeof answers.summary>;
export type Problems = Omit<z.infer<typeof answers.problems>, 'items' | 'next'>;
export type ObjectAnswer = z.infer<typeof answers.object>;
export type TreeNode = z.infer<typeof answers.treeNode>;
export type Money = z.infer<typeof answers.money>;
export type Budget = z.infer<typeof answers.budget>;
export type AccountFacts = z.infer<typeof answers.accountFacts>;
type FleetAnswer = z.infer<typeof answers.fleet>;
export type Fleet = Omit<FleetAnswer, 'slots'>;
export type Slot = FleetAnswer['slots'][number];
