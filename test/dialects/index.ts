import { plain, type Dialect } from './dialect.ts';
import { account } from './list/account.ts';
import { course } from './list/course.ts';
import { serviceFields } from './list/service-fields.ts';
import { serviceValues } from './list/service-values.ts';
import { storage } from './list/storage.ts';

/** `plain` first. */
export const dialects: readonly Dialect[] = [
  plain,
  ...serviceFields,
  ...serviceValues,
  ...storage,
  ...account,
  ...course,
];

/** Those that only change answers: what a control plane that is not theirs can play, too. The simulation does. */
export const answerDialects = dialects.filter(
  ({ forms, status, conduct, held, notSimulated }) =>
    (forms ?? status) !== undefined && !conduct && !held && notSimulated === undefined,
);

export function dialectNamed(name: string): Dialect {
  const found = dialects.find((dialect) => dialect.name === name);
  if (!found) throw new Error(`there is no dialect ${name}; docs/internals/dialects.md has all of them`);
  return found;
}
