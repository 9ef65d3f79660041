/** Reads everything that accounts hold. */
import type { Outcome, wire } from '../../api/index.ts';
import { isBuiltIn, type AccountContents } from '../../engine/index.ts';
import { answerTo } from '../output/answers.ts';
import type { AccountConnection } from './connection.ts';
import type { Context } from '../context.ts';
import { patientRead, type Patience } from './patient-read.ts';
import { withProgress } from '../output/progress.ts';

export interface ReadAccount {
  readonly account: AccountConnection;
  readonly contents: AccountContents;
  /** What this API does not serve, or shows in a form that can't be read, for people. */
  readonly missing: readonly string[];
}

export async function readAccounts(
  context: Context,
  accounts: readonly AccountConnection[],
  timeoutMs: number,
): Promise<ReadAccount[]> {
  const { clock } = context;
  const ended = new AbortController();
  const ends = AbortSignal.any([context.stopped, ended.signal]);
  const patience = { ...context, ends, untilMs: clock.monotonicMs() + timeoutMs };
  const deadline = clock.after(timeoutMs, () => ended.abort());
  let done = 0;
  const describe = () => `reading accounts: ${done} of ${accounts.length}`;
  const read = async (account: AccountConnection) => {
    const contents = await readAccount(account, patience);
    done += 1;
    return contents;
  };
  try {
    return await withProgress(context, describe, () => Promise.all(accounts.map(read)));
  } finally {
    deadline.cancel();
    // What waits for its turn behind a pause of the API has nothing to wait for.
    ended.abort();
  }
}

/** The account read has services and volumes; templates and registries have lists of their own (§4). */
async function readAccount(account: AccountConnection, patience: Patience): Promise<ReadAccount> {
  const { api, key } = account;
  const { stopped } = patience;
  const missing: string[] = [];
  const listed = <Item>(what: string, outcome: Outcome<wire.Shown<Item>>): readonly Item[] => {
    if (outcome.kind !== 'refused' || outcome.status !== 404) {
      const { items, unidentified } = answerTo(`read the ${what} of the account ${key}`, outcome, stopped);
      missing.push(...describeUnidentified(key, what, unidentified));
      return items;
    }
    missing.push(`the account ${key} has no list of ${what} (404)`);
    return [];
  };
  const whole = async () => {
    const outcome = await patientRead(patience, (ends) => api.account(ends));
    return answerTo(`read the account ${key}`, outcome, stopped);
  };
  const [{ services, volumes, unidentified }, templates, registries] = await Promise.all([
    whole(),
    patientRead(patience, (ends) => api.templates(ends)),
    patientRead(patience, (ends) => api.registries(ends)),
  ]);
  missing.push(...describeUnidentified(key, 'services', unidentified.services));
  missing.push(...describeUnidentified(key, 'volumes', unidentified.volumes));
  const contents = {
    services,
    volumes,
    templates: await ownTemplates(account, listed('templates', templates), patience),
    registries: listed('registries', registries),
  };
  return { account, contents, missing };
}

function describeUnidentified(
  key: string,
  what: string,
  unidentified: readonly { readonly unreadable?: readonly wire.Unreadable[] }[],
): string[] {
  const [problem] = unidentified[0]?.unreadable ?? [];
  if (!problem) return [];
  const { field, found, expected } = problem;
  return [
    `the account ${key} shows ${unidentified.length} ${what} that can't be identified (${field}: expected ${expected}, found ${found})`,
  ];
}

/** The list has the built-in ones, too; where they don't say so, the catalog names them (§2 "Template"). */
async function ownTemplates(
  { api, key }: AccountConnection,
  templates: readonly wire.Template[],
  patience: Patience,
): Promise<wire.Template[]> {
  const needsCatalog = templates.some(({ builtIn }) => typeof builtIn !== 'boolean');
  if (!needsCatalog) return templates.filter((template) => !isBuiltIn(template, undefined));
  const { stopped } = patience;
  const outcome = await patientRead(patience, (ends) => api.catalog(ends));
  const catalog = answerTo(`read the catalog for the account ${key}`, outcome, stopped);
  return templates.filter((template) => !isBuiltIn(template, catalog));
}
