/** One object: a sentence on why it is as it is; then drift, protection, what was done, cost, and its document. Pure. */
import { html, nothing, type TemplateResult } from 'lit-html';
import { sizeText } from '../format.ts';
import { commandsPanel } from '../parts/commands.ts';
import { badges, healthState, lastAnswer, sentence } from '../parts/health.ts';
import type { Tone } from '../parts/marks.ts';
import { dayBars, type Day } from '../parts/days.ts';
import { fleetHref, foreignLink, objectLink, shortName } from '../parts/links.ts';
import { ago, moment, perHour, since, state, withCode, withTimes, type Now } from '../parts/texts.ts';
import { linkTo } from '../route.ts';
import type { Budget, ObjectAnswer } from '../shapes.ts';
import { budget } from './money.ts';
import { mutationsTable } from './timeline.ts';

/** `ofBudget`: if it is one. */
export function objectView(answer: ObjectAnswer, now: Now, ofBudget?: Budget): TemplateResult {
  const { object, plan, parent } = answer;
  const { kind, namespace, name, health } = object;
  return html`
    <header class="top">
      <div class="stack">
        <p class="crumbs">
          ${kind} in
          ${namespace}${parent === null ? nothing : html`, below ${objectLink(parent, shortName(parent))}`}
        </p>
        <h1>${name}</h1>
      </div>
      <span class="now"
        >${healthState(health)} ${badges(object)}
        ${
          object.replicas === null
            ? nothing
            : html`<a class="button" href=${fleetHref(namespace, name)}>Replicas and rollout</a>`
        }</span
      >
    </header>
    <section class="panel" aria-label="Why">
      <div class="body stack">
        <p class="sentence">${sentence(object.sentence, now)}</p>
        ${lastAnswer(object.sentence.answer, now)}
        ${plan.meaning === '' ? nothing : html`<p class="muted">${withCode(plan.meaning)}</p>`}
        ${notAsDeclared(answer)} ${nextTimes(answer, now)}
      </div>
      ${whatToDo(answer)}
    </section>
    ${commandsPanel(answer.commands)} ${drift(answer, now)}
    ${
      ofBudget
        ? html`<ul class="panel">
            ${budget(ofBudget)}
          </ul>`
        : nothing
    }
    <div class="grid2 uneven">
      <div class="column">${facts(answer, now)} ${activities(answer, now)} ${days(answer)}</div>
      ${conditions(answer, now)}
    </div>
    ${mutations(answer, now)}
    <details class="panel">
      <summary>Document and status</summary>
      <pre class="document" tabindex="0">${answer.yaml}</pre>
    </details>
  `;
}

/** What is not as declared, as the condition has it. */
function notAsDeclared({ conditions: all }: ObjectAnswer): TemplateResult | typeof nothing {
  const synced = all.find(({ type, reason }) => type === 'Synced' && reason === 'Differs');
  // Of what is not there yet, every field differs.
  return synced?.message.includes('→') ? html`<p class="text">It ${synced.message}</p>` : nothing;
}

/** What comes next, as far as it has a time, and the sentence does not have it. */
function nextTimes({ plan, object }: ObjectAnswer, now: Now): TemplateResult | typeof nothing {
  const mentioned = new Set(object.sentence.parts.flatMap((part) => ('time' in part ? [part.time] : [])));
  const known = plan.times.filter(({ at }) => at !== null && !mentioned.has(at));
  if (known.length === 0) return nothing;
  return html`<ul class="reasons">
    ${known.map(({ at, what }) => html`<li>At ${moment(at ?? undefined, now)}: ${what}</li>`)}
  </ul>`;
}

function whatToDo({ plan, object }: ObjectAnswer): TemplateResult | typeof nothing {
  const turn = turnText(plan.turn, object.severity);
  if (plan.remedy === '' && turn === nothing) return nothing;
  return html`<div class="body stack">
    ${turn} ${plan.remedy === '' ? nothing : html`<p class="text">${withCode(plan.remedy)}</p>`}
  </div>`;
}

/** What only informs is no call for help. */
function turnText(turn: string | null, severity: string): TemplateResult | typeof nothing {
  if (turn === 'user' && severity === 'info')
    return html`<p class="muted">It continues by itself; a person can end the wait.</p>`;
  if (turn === 'user') return html`<p>${state('bad', 'It waits for a person.')}</p>`;
  if (turn === 'provider')
    return html`<p>${state('wait', 'It is the provider’s turn. Nothing has to be done.')}</p>`;
  return nothing;
}

function facts(
  { object, cost, document, labels, deletionRequestedAt, createdAt, observed, spec }: ObjectAnswer,
  now: Now,
) {
  const { account, region, geography, state: shown, fleet, namespace } = object;
  const [, , owner = ''] = fleet?.split('/') ?? [];
  const endpoint = observed['endpoint'];
  const rows: readonly (readonly [string, unknown])[] = [
    ['Provider shows', shown],
    ['In account', account && html`<a href=${linkTo(['objects'], { account })}>${account}</a>`],
    ['Fleet', fleet && html`<a href=${fleetHref(namespace, owner)}>${owner}</a>`],
    ['Place', geography ?? region],
    ['Image', typeof spec['image'] === 'string' && html`<code>${spec['image']}</code>`],
    ['Resources', sizeText(spec['resources'] ?? {})],
    ['Endpoint', typeof endpoint === 'string' ? foreignLink(endpoint) : undefined],
    [
      'Cost',
      cost.hourlyMicros === null
        ? undefined
        : html`${perHour(cost.hourlyMicros)} <span class="muted">${cost.basis}</span>`,
    ],
    [
      'Labels',
      Object.keys(labels).length === 0
        ? undefined
        : Object.entries(labels).map(([name, value]) => html`<code>${name}=${value}</code> `),
    ],
    ['Document', `${document.file}${document.line === null ? '' : `:${document.line}`}`],
    ['Created', createdAt && ago(createdAt, now)],
    ['Deletion', deletionRequestedAt && html`asked for ${ago(deletionRequestedAt, now)}`],
  ];
  return html`<section class="panel" aria-labelledby="facts">
    <header><h2 id="facts">Facts</h2></header>
    <dl class="body facts">
      ${rows.map(([name, value]) =>
        value
          ? html`<dt>${name}</dt>
              <dd>${value}</dd>`
          : nothing,
      )}
    </dl>
  </section>`;
}

/** Conditions that are good news when they are True. */
const good = new Set([
  'Ready',
  'Available',
  'Synced',
  'Accepted',
  'Allocated',
  'SpendingAllowed',
  'WithinBudget',
]);
/** Conditions that are no news. */
const neutral = new Set(['Protected']);

function toneOf(type: string, status: string): Tone {
  if (status === 'Unknown' || neutral.has(type)) return 'idle';
  if (good.has(type)) return status === 'True' ? 'ok' : 'wait';
  if (status !== 'True') return 'idle';
  return type === 'Stalled' || type === 'RolledBack' ? 'bad' : 'wait';
}

function conditions({ conditions: all }: ObjectAnswer, now: Now): TemplateResult {
  return html`<section class="panel" aria-labelledby="conditions">
    <header><h2 id="conditions">Conditions</h2></header>
    <div class="scroll" tabindex="0" role="region" aria-labelledby="conditions">
      <table class="stacked">
        <tbody>
          ${all.map(
            ({ type, status, reason, message, lastTransitionTime }, index) =>
              html`<tr>
                <th scope="row" class="brief">${state(toneOf(type, status), type)}</th>
                <td class="nowrap brief">${status}</td>
                <td class="wide">${reason}${messageOf(message, all.slice(0, index), now)}</td>
                <td class="number muted roomy">${since(lastTransitionTime, now)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}

/** Several conditions often have the same message. It is there once. */
function messageOf(
  message: string,
  before: ObjectAnswer['conditions'],
  now: Now,
): TemplateResult | typeof nothing {
  if (message === '') return nothing;
  const first = before.find((each) => each.message === message);
  return html`<div class="muted small">${first ? `as ${first.type}` : withTimes(message, now)}</div>`;
}

function shownValue(of: unknown): string {
  return of === undefined || of === null ? 'nothing' : typeof of === 'string' ? of : JSON.stringify(of);
}

/** Of a Budget: what each day has cost. */
function days({ observed }: ObjectAnswer): TemplateResult | typeof nothing {
  const all = observed['days'];
  if (!Array.isArray(all) || all.length < 2) return nothing;
  return html`<section class="panel" aria-labelledby="days">
    <header><h2 id="days">Day by day</h2></header>
    <div class="body">${dayBars(all as readonly Day[])}</div>
  </section>`;
}

function drift({ drift: differences }: ObjectAnswer, now: Now): TemplateResult | typeof nothing {
  if (differences.length === 0) return nothing;
  return html`<section class="panel" aria-labelledby="drift">
    <header><h2 id="drift">Drift</h2></header>
    <div class="scroll" tabindex="0" role="region" aria-labelledby="drift">
      <table>
        <thead>
          <tr>
            <th scope="col">Field</th>
            <th scope="col">Wanted</th>
            <th scope="col">Actual</th>
            <th scope="col">What becomes of it</th>
            <th scope="col" class="number">For</th>
          </tr>
        </thead>
        <tbody>
          ${differences.map(
            (each) =>
              html`<tr>
                <td><code>${each.path}</code></td>
                <td class="wide"><code>${shownValue(each.wanted)}</code></td>
                <td class="wide"><code>${shownValue(each.actual)}</code></td>
                <td class="wide">
                  ${each.will.what}${each.will.at === null ? nothing : html` ${moment(each.will.at, now)}`}
                  ${each.cause === null ? nothing : html`<div class="muted small">${each.cause}</div>`}
                </td>
                <td class="number muted">${since(each.since, now)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}

function activities({ activities: all }: ObjectAnswer, now: Now): TemplateResult | typeof nothing {
  if (all.length === 0) return nothing;
  return html`<section class="panel" aria-labelledby="protection">
    <header><h2 id="protection">Protection</h2></header>
    <ul class="body stack">
      ${all.map(
        (each) =>
          html`<li>
            ${state(each.isReleased ? 'idle' : 'ok', each.isReleased ? 'released' : (each.state ?? 'registered'))}
            ${objectLink(each.key, each.task)}
            <span class="muted">
              ${each.heartbeatAt === null ? 'no heartbeat yet' : html`heartbeat ${ago(each.heartbeatAt, now)}`},
              sent by ${each.renewedBy}</span
            >
            ${each.message === null ? nothing : html`<div class="muted small">${each.message}</div>`}
          </li>`,
      )}
    </ul>
  </section>`;
}

function mutations(
  { intents: { open, newest }, object }: ObjectAnswer,
  now: Now,
): TemplateResult | typeof nothing {
  const all = open
    ? [open, ...newest.filter(({ idempotencyKey }) => idempotencyKey !== open.idempotencyKey)]
    : newest;
  if (all.length === 0) return nothing;
  return html`<section class="panel" aria-labelledby="mutations">
    <header>
      <h2 id="mutations">What was done</h2>
      <a class="small" href=${linkTo(['timeline'], { object: object.key })}>Timeline</a>
    </header>
    <div class="scroll" tabindex="0" role="region" aria-labelledby="mutations">
      ${mutationsTable(all, now, false)}
    </div>
  </section>`;
}
