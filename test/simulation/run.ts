/**
 * `npm run simulate -- [--place folder|cluster|both] [--seeds N] [--seed S] [--minutes M] [--dialect NAME|all] [--shared-key] [--crowd NAME] [--trace]`: runs N seeds from S on (default:
 * 100 from 1, in a folder), or as many as fit into M minutes. The control plane speaks the dialect that is drawn with the seed, or that of `--dialect
 * NAME`; with `--dialect all` the seeds go through all of them in turn. One run in a hundred is made twice, and has to be the same to the last event. A failing seed is shrunk, and told
 * with all that is needed to run it again; `--trace` prints every event of a run.
 */
import { parseArgs } from 'node:util';
import { plain } from '../dialects/dialect.ts';
import { answerDialects, dialectNamed } from '../dialects/index.ts';
import { possiblePairs } from './journal-coverage.ts';
import { crowdNames, places, scriptOf, type CrowdName, type Script } from './script.ts';
import { describe, shrink } from './shrink.ts';
import { run, type Result } from './world.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    place: { type: 'string', default: 'folder' },
    minutes: { type: 'string' },
    dialect: { type: 'string' },
    'shared-key': { type: 'boolean', default: false },
    crowd: { type: 'string' },
    trace: { type: 'boolean', default: false },
    shrink: { type: 'boolean', default: true },
    'keep-going': { type: 'boolean', default: false },
  },
  allowNegative: true,
});

const options = { sharedKey: values['shared-key'] };
const first = Number(values.seed);
const count = values.minutes === undefined ? Number(values.seeds) : Number.POSITIVE_INFINITY;
const limitMs = values.minutes === undefined ? Number.POSITIVE_INFINITY : Number(values.minutes) * 60_000;
const twiceEach = 100;
/** A few seeds meet little; of many it is worth knowing what they have not met. */
const mostMissedShown = 20;

const startedMs = performance.now();
const total = {
  seeds: 0,
  lives: 0,
  simulatedMs: 0,
  mutations: 0,
  failures: 0,
  coverage: new Set<string>(),
  journalCoverage: new Set<string>(),
  hash: '',
};

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function add(result: Result): void {
  total.seeds += 1;
  total.lives += result.lives;
  total.simulatedMs += result.simulatedMs;
  total.mutations += result.mutations;
  total.hash = result.traceHash;
  for (const each of result.coverage) total.coverage.add(each);
  for (const each of result.journalCoverage) total.journalCoverage.add(each);
}

async function tell(script: Script, { violation, traceHash }: Result): Promise<void> {
  const { seed, place, dialect } = script;
  total.failures += 1;
  say(
    `seed ${seed} in the dialect ${dialect} violates ${violation?.invariant} at ${violation?.atMs} ms: ${violation?.message}`,
  );
  say(
    `trace ${traceHash}; again: npm run simulate -- --place ${place} --seeds 1 --seed ${seed} --dialect ${dialect} --crowd ${crowdOf(seed)} --trace`,
  );
  if (!values.shrink) return;
  say(`shrunk: ${describe(await shrink(script, options))}`);
}

/** Whether it may go on. */
async function runOne(script: Script): Promise<boolean> {
  const { seed } = script;
  const result = await run(script, values.trace ? { ...options, onTrace: say } : options);
  add(result);
  if (result.violation) await tell(script, result);
  const mayGoOn = !result.violation || values['keep-going'];
  if (seed % twiceEach !== 0 || !mayGoOn) return mayGoOn;
  const again = await run(script, options);
  if (again.traceHash === result.traceHash) return true;
  total.failures += 1;
  say(`seed ${seed} ran in two ways: ${result.traceHash} and ${again.traceHash}`);
  return true;
}

const chosen = places.filter((place) => values.place === 'both' || values.place === place);
if (chosen.length === 0) throw new Error('--place is folder, cluster or both');

const givenCrowd = crowdNames.find((name) => name === values.crowd);
if (values.crowd !== undefined && !givenCrowd) throw new Error(`--crowd is one of ${crowdNames.join(', ')}`);

/**
 * One seed in four has fleets: one in eight those that choose among places, and one in sixteen those with templates. One in 32 has a
 * budget, and one in 32 several and fleets.
 */
function crowdOf(seed: number): CrowdName {
  if (givenCrowd) return givenCrowd;
  if (seed % 16 === 7) return 'templated';
  if (seed % 32 === 5) return 'budgeted';
  if (seed % 32 === 21) return 'shedding';
  if (seed % 8 === 3) return 'contested';
  return seed % 4 === 3 ? 'fleets' : 'forged';
}

function chosenDialect(seed: number): { dialect?: string } {
  if (values.dialect === undefined) return {};
  if (values.dialect !== 'all') return { dialect: dialectNamed(values.dialect).name };
  return { dialect: answerDialects[seed % answerDialects.length]?.name ?? plain.name };
}

let mayGoOn = true;
for (
  let seed = first;
  mayGoOn && seed < first + count && performance.now() - startedMs < limitMs;
  seed += 1
) {
  for (const place of chosen)
    mayGoOn &&= await runOne(scriptOf(seed, place, { crowd: crowdOf(seed), ...chosenDialect(seed) }));
}

const seconds = (performance.now() - startedMs) / 1000;
say(
  `${total.seeds} seeds in ${seconds.toFixed(1)} s (${(total.seeds / seconds).toFixed(2)} seeds/s), ${total.lives} object-lives, ` +
    `${(total.simulatedMs / 3_600_000).toFixed(1)} simulated hours, ${total.mutations} mutations, ` +
    `${total.coverage.size} pairs of fault and request, last trace ${total.hash}, ${total.failures} failures`,
);
const possible = new Set(chosen.flatMap(possiblePairs));
const missed = [...possible].filter((pair) => !total.journalCoverage.has(pair));
say(
  `${possible.size - missed.length} of ${possible.size} pairs of fault and state of the journal` +
    (missed.length > 0 && missed.length <= mostMissedShown ? `; not met: ${missed.join(', ')}` : ''),
);
process.exitCode = total.failures > 0 ? 1 : 0;
