/**
 * The two tables of `docs/reference/actions.md`, made from src/actions/: `npm run docs:actions` writes them.
 *
 * | table    | where a cell is from                                                                     |
 * |----------|------------------------------------------------------------------------------------------|
 * | requests | the entry of the action; method, path and revision from the request that the client sends |
 * | evidence | `settle`, which is asked for its verdict on each situation                               |
 */
import { actions, entryOfAction, type ActionEntry } from '../../../src/actions/index.ts';
import { ControlApi, Limiter, type HttpRequest } from '../../../src/api/index.ts';
import { Sensitive, systemClock } from '../../../src/base/index.ts';
import { type Verdict, settle } from '../../../src/engine/plan/index.ts';
import { createMetrics } from '../../../src/telemetry/index.ts';
import { writeGenerated, type GeneratedPart } from '../../support/generated-part.ts';
import { samples } from './samples.ts';
import {
  differencesIn,
  evidenceName,
  intentOf,
  situations,
  type EvidenceName,
  type Situation,
} from './situations.ts';

const part = (from: string): GeneratedPart => ({
  document: 'docs/reference/actions.md',
  from,
  script: 'docs:actions',
});
export const requestsPart = part('src/actions/');
export const evidencePart = part('src/actions/ and src/engine/plan/settle.ts');

const entries = Object.values(actions) as readonly ActionEntry[];

export async function requestLines(): Promise<string[]> {
  const rows = await Promise.all(Object.values(samples).map(requestRow));
  return [
    '| mutation | request | sets | carries a revision | may cost more | needs a verified e-mail address | evidence |',
    '|---|---|---|---|---|---|---|',
    ...rows,
  ];
}

async function requestRow(action: (typeof samples)[keyof typeof samples]): Promise<string> {
  const entry = entryOfAction(action);
  const { method, url, body } = await requestOf(entry, action);
  const [path, isRevised] = [url.replace(/[\da-f-]{36}/, '{id}'), body?.includes('"revision":') === true];
  const sets = entry.fields === 'all' ? 'all fields' : entry.fields.map((field) => `\`${field}\``).join(', ');
  const cells = [
    `\`${entry.name}\``,
    `\`${method} ${path}\``,
    entry.effect === 'delete' ? '' : sets,
    yes(isRevised),
    yes(entry.spends),
    yes(entry.needsVerifiedEmail),
    evidenceName(entry),
  ];
  return rowOf(cells);
}

const yes = (is: boolean) => (is ? 'yes' : '');
const rowOf = (cells: readonly string[]) => `| ${cells.join(' | ')} |`.replaceAll(/ {2,}/g, ' ');

/** What the client sends for it. */
async function requestOf(
  entry: ActionEntry,
  action: (typeof samples)[keyof typeof samples],
): Promise<HttpRequest> {
  const sent: HttpRequest[] = [];
  const metrics = createMetrics();
  const api = new ControlApi({
    baseUrl: '',
    credential: () => new Sensitive('key'),
    limiter: new Limiter({ account: 'a', perSecond: 1, burst: 1, concurrency: 1 }, systemClock, metrics),
    clock: systemClock,
    metrics,
    transport: {
      exchange(request) {
        sent.push(request);
        return Promise.resolve({ kind: 'not-sent', reason: 'it is only to be seen' });
      },
      close: () => Promise.resolve(),
    },
  });
  await entry.request(api, action, 'key');
  const [request] = sent;
  if (!request) throw new Error(`${entry.name} sent nothing`);
  return request;
}

export function evidenceLines(): string[] {
  const names = [...new Set(entries.map(evidenceName))];
  return [
    '| evidence | it happened | it did not | otherwise |',
    '|---|---|---|---|',
    ...names.map((name) => evidenceRow(name)),
  ];
}

type ShownVerdict = NonNullable<Verdict> | 'wait';

function evidenceRow(name: EvidenceName): string {
  const judged = Object.groupBy(situations[name], (situation) => verdictOn(situation, name));
  const textsOf = (verdict: ShownVerdict) => (judged[verdict] ?? []).map(({ text }) => text);
  const otherwise = (['outdated', 'repeatable', 'undecided', 'wait'] as const)
    .filter((verdict) => textsOf(verdict).length > 0)
    .map((verdict) => `${verdict} if ${textsOf(verdict).join('; or ')}`);
  return rowOf([
    name,
    textsOf('applied').join('; or '),
    textsOf('not-applied').join('; or '),
    otherwise.join('. ').replaceAll(/(?:^|(?<=\. ))[a-z]/g, (letter) => letter.toUpperCase()),
  ]);
}

/** The same for all actions with that evidence. */
function verdictOn(situation: Situation, name: EvidenceName): ShownVerdict {
  const found = entries
    .filter((entry) => evidenceName(entry) === name)
    .map((entry) => {
      const { observation, marksHidden = false } = situation;
      return settle(intentOf(entry), observation, differencesIn(situation, entry), marksHidden) ?? 'wait';
    });
  const [verdict = 'wait', ...others] = new Set(found);
  if (others.length > 0) throw new Error(`"${situation.text}" has several verdicts: ${found.join(', ')}`);
  return verdict;
}

if (import.meta.main) {
  writeGenerated(requestsPart, await requestLines());
  writeGenerated(evidencePart, evidenceLines());
}
