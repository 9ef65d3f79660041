/** The start page: what needs a person, worst first, with what to do. Pure. */
import { html, nothing, type TemplateResult } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import { counted, duration, usd } from '../format.ts';
import { marks } from '../parts/marks.ts';
import { lastAnswer, tones } from '../parts/health.ts';
import { objectLink, shortName } from '../parts/links.ts';
import { command, since, withCode, withTimes, type Now } from '../parts/texts.ts';
import { linkTo } from '../route.ts';
import type { Health, Problem, Problems, Summary } from '../shapes.ts';

export interface ProblemsModel {
  readonly head: Problems;
  readonly problems: readonly Problem[];
  readonly summary: Summary | undefined;
}

export function problemsView({ head, problems, summary }: ProblemsModel, now: Now): TemplateResult {
  const own = problems.filter(needsPerson);
  const others = problems.filter((each) => !needsPerson(each));
  const rest = head.total - problems.length;
  const isNone = own.length === 0 && rest <= 0;
  const heading = isNone
    ? nothingText(summary)
    : counted(own.length === 0 ? head.total : own.length, 'problem');
  return html`
    <header class="top">
      <div>
        <h1>${heading}</h1>
        <p>${summary ? readText(summary, now) : nothing}</p>
      </div>
    </header>
    ${summary ? figures(summary) : nothing}
    <section class="panel" aria-label="Problems">
      ${own.length === 0 ? noProblems(summary, rest) : listOf(own, now)}
      ${
        rest > 0
          ? html`<div class="body muted">
              and ${counted(rest, 'more problem')}; the <a href=${linkTo(['objects'])}>list</a> has all
              objects, the worst first
            </div>`
          : nothing
      }
    </section>
    ${
      others.length === 0
        ? nothing
        : html`<section class="panel" aria-labelledby="others">
            <header>
              <h2 id="others">Continues by itself</h2>
              <span class="muted small">longer than usual</span>
            </header>
            ${listOf(others, now)}
          </section>`
    }
    ${head.suspended.length > 0 ? suspended(head) : nothing}
    ${(summary?.notes ?? []).map((note) => html`<p class="muted small">${note}</p>`)}
  `;
}

/** What is critical is for a person to know, whoever can end it. */
function needsPerson({ turn, severity }: Problem): boolean {
  return turn === 'user' || severity === 'critical';
}

function listOf(problems: readonly Problem[], now: Now): unknown {
  return repeat(
    problems,
    ({ id }) => id,
    (each) => problem(each, now),
  );
}

/** What is not read, or looked after by nobody, is no good news (GI6). */
function isAllKnown(summary: Summary | undefined): boolean {
  const isManaged = summary !== undefined && ['Running', 'Unknown'].includes(summary.manager.state);
  return isManaged && summary.isComplete && summary.accountCounts.current === summary.accountCounts.all;
}

const nothingText = (summary: Summary | undefined) =>
  isAllKnown(summary) ? 'Nothing needs you' : 'No problem is known';

/** `rest`: how many problems are not shown. */
function noProblems(summary: Summary | undefined, rest: number): TemplateResult {
  if (rest > 0)
    return html`<div class="empty">
      ${marks.idle}<strong>Not all problems are shown</strong>None of those that are shown needs you.
    </div>`;
  return isAllKnown(summary)
    ? html`<div class="empty">
        ${marks.ok}<strong>Nothing needs you</strong>What waits or is held now continues by itself.
      </div>`
    : html`<div class="empty">
        ${marks.idle}<strong>No problem is known</strong>Not everything is read now, so there may be some.
      </div>`;
}

function readText({ accountCounts: { all, unread }, oldestReadAt }: Summary, now: Now): string {
  if (all === 0) return 'There is no Account.';
  if (oldestReadAt === null)
    return `${counted(unread, 'account')} ${unread === 1 ? 'was' : 'were'} never read.`;
  const ageMs = Math.max(0, now.serverMs - Date.parse(oldestReadAt));
  return all === 1
    ? `The account was read ${duration(ageMs)} ago.`
    : `All ${all} accounts were read in the last ${duration(ageMs)}.`;
}

/** Objects by health: together they are all. Those that are rare are shown only if there is one. */
const always: ReadonlySet<Health> = new Set(['Healthy', 'Waiting', 'Working']);

function figures({ objects, health, burnMicrosPerHour, runwaySeconds }: Summary): TemplateResult {
  const shown = (Object.keys(tones) as Health[])
    .toReversed()
    .filter((each) => always.has(each) || (health[each] ?? 0) > 0);
  return html`<dl class="figures">
    ${shown.map((each) => {
      const count = (health[each] ?? 0).toLocaleString('en-US');
      const value =
        each === 'Healthy' ? html`${count} <small>of ${objects.toLocaleString('en-US')}</small>` : count;
      const tone = (health[each] ?? 0) === 0 ? 'zero' : tones[each] === 'bad' ? 'bad' : '';
      return figure(each, value, linkTo(['objects'], { health: each }), tone);
    })}
    ${figure('Cost now', burnMicrosPerHour === null ? 'unknown' : html`${usd(burnMicrosPerHour)}<small>/h</small>`, linkTo(['money']))}
    ${figure('Balance lasts', runwaySeconds === null ? '–' : duration(1000 * runwaySeconds), linkTo(['money']))}
  </dl>`;
}

/** `href`: where the objects are that it counts. */
function figure(name: string, value: TemplateResult | string, href?: string, tone = ''): TemplateResult {
  return html`<div class=${tone}>
    <dt>${name}</dt>
    <dd>${href === undefined ? value : html`<a href=${href}>${value}</a>`}</dd>
  </div>`;
}

function problem(each: Problem, now: Now): TemplateResult {
  const { severity, health, message, answer, remedy, mistakes } = each;
  const tone = severity === 'critical' ? 'bad' : tones[health];
  return html`<article class="problem ${tone}">
    ${marks[tone]}
    <div class="stack">
      ${headOf(each, now)}
      ${
        mistakes.length > 0
          ? mistakesOf(each)
          : html`<p class="text">${withTimes(message, now)}</p>
              ${lastAnswer(answer, now)}
              <p class="text muted">${withCode(remedy)}</p>`
      }
      ${whoOf(each)} ${command(each.command)}
    </div>
  </article>`;
}

function mistakesOf({ mistakes, count }: Problem): TemplateResult {
  return html`<ul class="mistakes">
    ${mistakes.map(
      ({ place, message, remedy }) =>
        html`<li>
          <code>${place}</code> ${message}
          <div class="muted">${withCode(remedy)}</div>
        </li>`,
    )}
    ${count > mistakes.length ? html`<li class="muted">and ${count - mistakes.length} more</li>` : nothing}
  </ul>`;
}

/** Without objects, it is about documents that are none of an object. */
function headOf(
  { reason, severity, count, account, objects, turn, since: began }: Problem,
  now: Now,
): TemplateResult {
  const isOfDocuments = objects.length === 0;
  const place = account === null ? {} : { account };
  const ages = [
    ...(began === null ? [] : [html`for ${since(began, now)}`]),
    ...(turn === 'provider' ? ['the provider’s turn'] : []),
  ];
  return html`<div class="line">
    <span>
      ${
        isOfDocuments
          ? html`<span class="reason">${reason}</span>`
          : html`<a class="reason" href=${linkTo(['objects'], { reason, ...place })}>${reason}</a>`
      }
      <span class="muted"
        >${counted(count, isOfDocuments ? 'mistake' : 'object')}${account === null ? '' : ` in ${account}`}${
          severity === 'critical' ? ', critical' : ''
        }</span
      >
    </span>
    <span class="muted small">${ages.map((age, index) => html`${index === 0 ? '' : ', '}${age}`)}</span>
  </div>`;
}

function whoOf({ objects, count, reason, account }: Problem): TemplateResult | typeof nothing {
  if (objects.length === 0) return nothing;
  const rest = count - objects.length;
  return html`<p class="who">
    ${objects.map((key) => objectLink(key, shortName(key)))}
    ${rest > 0 ? html`<a href=${linkTo(['objects'], { reason, ...(account === null ? {} : { account }) })}>and ${rest} more</a>` : nothing}
  </p>`;
}

function suspended({ suspended: rows }: Problems): TemplateResult {
  return html`<section class="panel" aria-labelledby="suspended">
    <header><h2 id="suspended">Suspended</h2></header>
    <ul class="body stack">
      ${rows.map(
        ({ reason, count }) =>
          html`<li class="state hold">
            ${marks.hold}<a href=${linkTo(['objects'], { reason })}>${reason}</a>
            <span class="muted">${counted(count, 'object')}</span>
          </li>`,
      )}
    </ul>
  </section>`;
}
