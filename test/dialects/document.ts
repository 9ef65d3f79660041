/** `docs/dialects.md`, made from the silences and the dialects: `npm run docs:dialects` writes it. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Dialect } from './dialect.ts';
import { answerDialects, dialects } from './index.ts';
import { wireForms } from './http-forms.ts';
import { groups, silences, type Silence } from './silences.ts';

export const dialectsDocument = path.join(import.meta.dirname, '../../docs/dialects.md');

export function renderDialectsDocument(): string {
  const { length: simulated } = answerDialects;
  const parts = Object.entries(groups).map(([title, rows]) =>
    [`## ${title}`, '', ...table(Object.entries(rows)), ''].join('\n'),
  );
  return [
    '# Dialects',
    '',
    '<!-- Made by `npm run docs:dialects` from test/dialects/; not to be edited. -->',
    '',
    '`CONTROL-API.md` leaves much open: types, keys, letter cases, status codes, the course of things. Each row below is one silence: what the contract does say,',
    'which readings of the rest the client accepts, and what it refuses on purpose. [Where the contract is silent](api-assumptions.md) says how our own control plane decides.',
    '',
    `A **dialect** is one reading, played by a test server that was written from the contract alone (\`test/dialects/provider/\`). There are ${dialects.length}. With each of them`,
    'the manager lives a whole life of a small fleet: it creates five services, a volume, a template, a registry and a protected task, is left alone, corrects drift, follows an edit in a',
    'race with somebody else, grows the volume, is replaced by another process, and deletes everything. In the end nothing was made twice, each object came to be Ready (or said the reason that',
    'is named below), no change was sent that the plain dialect does not need, what belongs to others is untouched, and no heartbeat was missing for 300 s.',
    '',
    `The simulation draws one of the ${simulated} dialects that only change answers (those without *) for each seed; \`npm run simulate -- --dialect NAME\` runs one, \`--dialect all\` all in turn.`,
    '',
    '## What is not accepted',
    '',
    ...heldLines(),
    '',
    ...parts,
  ].join('\n');
}

function table(rows: readonly (readonly [string, Silence])[]): string[] {
  const lines = rows.map(([name, { section, stated, accepted, refused }]) => {
    const limits = refused === undefined ? '' : ` Not: ${refused}`;
    return `| **${name}** | ${section} | ${stated} | ${accepted}.${limits} | ${players(name)} |`;
  });
  return [
    '| silence | section | the contract says | the client accepts | played by |',
    '|---|---|---|---|---|',
    ...lines,
  ];
}

function players(silence: string): string {
  const found = dialects.filter((dialect) => dialect.silence === silence);
  const forms = wireForms.filter((form) => form.silence === silence);
  return [...found.map(told), ...forms.map(({ name, plays }) => `\`${name}\` (HTTP): ${plays}`)].join('; ');
}

function told(dialect: Dialect): string {
  const mark = answerDialects.includes(dialect) ? '' : '*';
  return `\`${dialect.name}\`${mark}: ${dialect.plays}`;
}

/** What a dialect costs, or keeps from being Ready. */
function heldLines(): string[] {
  return dialects.flatMap(({ name, plays, held = {}, stays = [], costs = {} }) => {
    const reasons = Object.entries(held).map(([object, reason]) => `${object} says \`${reason}\``);
    const requests = Object.entries(costs).map(([request, why]) => `costs ${request}: ${why}`);
    const left = stays.map((what) => `${what} is not deleted`);
    return reasons.concat(left, requests).map((what) => `- \`${name}\` (${plays}): ${what}.`);
  });
}

/** Silences that nobody plays. */
export function unplayed(): string[] {
  return Object.keys(silences).filter((silence) => players(silence) === '');
}

if (import.meta.main) writeFileSync(dialectsDocument, renderDialectsDocument());
