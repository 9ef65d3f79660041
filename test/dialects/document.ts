/** `docs/internals/dialects.md`, made from the silences and the dialects: `npm run docs:dialects` writes it. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Dialect } from './dialect.ts';
import { answerDialects, dialects } from './index.ts';
import { wireForms } from './http-forms.ts';
import { groups, silences, type Silence } from './silences.ts';

export const dialectsDocument = path.join(import.meta.dirname, '../../docs/internals/dialects.md');

export function renderDialectsDocument(): string {
  const { length: simulated } = answerDialects;
  const parts = Object.entries(groups).map(([title, rows]) =>
    [`## ${title}`, '', ...silenceTable(rows), '', ...dialectTable(Object.keys(rows)), ''].join('\n'),
  );
  return [
    '# Dialects',
    '',
    '<!-- Made by `npm run docs:dialects` from test/dialects/; not to be edited. -->',
    '',
    '`CONTROL-API.md` leaves much open: types, keys, letter cases, status codes, the order of states. Each row below is one silence: what the contract states, which',
    'readings of the rest the client accepts, and what it refuses on purpose. [Where the contract is silent](api-assumptions.md) has the decisions of the reference control plane.',
    '',
    `A **dialect** is one reading. A test server plays it, which was written from the contract alone (\`test/dialects/provider/\`). There are ${dialects.length} dialects.`,
    '',
    'With each of them, the manager runs a small fleet from beginning to end. It creates five services, a volume, a template, a registry and a protected task, and is left alone. It corrects',
    'drift, follows an edit in a race with somebody else, and grows the volume. Another process replaces it, and deletes everything. In the end:',
    '',
    '- Nothing was created twice.',
    '- Each object became Ready, or reported the reason below.',
    '- No change was sent that the plain dialect does not need.',
    '- Foreign things are unchanged.',
    '- No heartbeat was missing for 300 s.',
    '',
    `For each seed, the simulation draws one of the ${simulated} dialects that only change answers. Those with * change more. \`npm run simulate -- --dialect NAME\` runs one, \`--dialect all\` all of`,
    'them in turn.',
    '',
    '## What is not accepted',
    '',
    '| dialect | what it does | what follows |',
    '|---|---|---|',
    ...heldRows(),
    '',
    ...parts,
  ].join('\n');
}

function silenceTable(rows: Readonly<Record<string, Silence>>): string[] {
  return [
    '| silence | section | the contract states | the client accepts | it refuses |',
    '|---|---|---|---|---|',
    ...Object.entries(rows).map(
      ([name, { section, stated, accepted, refused = '' }]) =>
        `| **${name}** | ${section} | ${stated} | ${accepted} | ${refused} |`,
    ),
  ];
}

function dialectTable(rows: readonly string[]): string[] {
  return [
    '| dialect | silence | what it does |',
    '|---|---|---|',
    ...rows.flatMap((silence) =>
      players(silence).map(([name, plays]) => `| ${name} | ${silence} | ${plays} |`),
    ),
  ];
}

/** The dialects and forms of HTTP that play it, with what they do. */
function players(silence: string): (readonly [name: string, plays: string])[] {
  const found = dialects.filter((dialect) => dialect.silence === silence);
  const forms = wireForms.filter((form) => form.silence === silence);
  return [
    ...found.map((dialect) => [nameOf(dialect), dialect.plays] as const),
    ...forms.map(({ name, plays }) => [`\`${name}\` (HTTP)`, plays] as const),
  ];
}

function nameOf(dialect: Dialect): string {
  return `\`${dialect.name}\`${answerDialects.includes(dialect) ? '' : '*'}`;
}

/** What a dialect costs, or keeps from being Ready. */
function heldRows(): string[] {
  return dialects.flatMap(({ name, plays, held = {}, stays = [], costs = {} }) => {
    const reasons = Object.entries(held).map(
      ([object, reason]) => `\`${object}\` has the reason \`${reason}\``,
    );
    const requests = Object.entries(costs).map(([request, why]) => `costs ${request}: ${why}`);
    const left = stays.map((what) => `${what} is not deleted`);
    const effects = reasons.concat(left, requests);
    return effects.length === 0 ? [] : [`| \`${name}\` | ${plays} | ${effects.join('; ')} |`];
  });
}

/** Silences that nobody plays. */
export function unplayed(): string[] {
  return Object.keys(silences).filter((silence) => players(silence).length === 0);
}

if (import.meta.main) writeFileSync(dialectsDocument, renderDialectsDocument());
