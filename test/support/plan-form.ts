/** Every plan that a test reads from the command line is as `schemas/plan-v1.json` describes it, and has no other field. */
import { Ajv } from 'ajv';
import type { Json } from './processes/fleet.ts';
import { planJsonSchema } from '../../src/cli/output/plan-schema.ts';

const validate = new Ajv({ strict: false, allErrors: true }).compile(planJsonSchema(true));

/** The plan in the output of `plan --output json`. */
export function readPlanJson(text: string): Json {
  const plan: Json = JSON.parse(text);
  if (validate(plan)) return plan;
  const errors = (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
  throw new Error(`the plan is not as schemas/plan-v1.json describes it:\n${errors.join('\n')}\n${text}`);
}
