/** Accounts: whether they are read, how fast the API may be asked, quotas, and what is known of capacity. Pure. */
import { html, nothing, type TemplateResult } from 'lit-html';
import { bar } from '../parts/bar.ts';
import { counted, sizeText, usd } from '../format.ts';
import { brakeText } from '../parts/health.ts';
import { marks } from '../parts/marks.ts';
import { ago, moment, since, state, withCode, type Now } from '../parts/texts.ts';
import { linkTo } from '../route.ts';
import type { AccountFacts, Summary } from '../shapes.ts';

export function accountsView(
  { accounts, accountCounts, brakes: engaged }: Pick<Summary, 'accounts' | 'accountCounts' | 'brakes'>,
  now: Now,
): TemplateResult {
  const rest = accountCounts.all - accounts.length;
  return html`
    <header class="top"><h1>Accounts</h1></header>
    ${brakes(engaged, now)}
    ${
      accounts.length === 0
        ? html`<section class="panel">
            <div class="empty"><strong>There is no Account</strong></div>
          </section>`
        : accounts.map((each) => accountPanel(each, now))
    }
    ${
      rest > 0
        ? html`<p class="muted">
            and ${counted(rest, 'more account')}; those that were not read lately, or fail, come first
          </p>`
        : nothing
    }
  `;
}

function quietly({ pollSeconds, longestPollSeconds }: AccountFacts): string {
  return longestPollSeconds > pollSeconds ? `, or ${longestPollSeconds} s while nothing happens` : '';
}

/** By which Fleetkeeper has stopped itself. */
function brakes(engaged: Summary['brakes'], now: Now): TemplateResult | typeof nothing {
  if (engaged.length === 0) return nothing;
  return html`<section class="panel" aria-labelledby="brakes">
    <header><h2 id="brakes">Brakes</h2></header>
    ${engaged.map((each) => brake(each, now))}
  </section>`;
}

function brake(each: Summary['brakes'][number], now: Now): TemplateResult {
  const { reason, stops, account, count, since: began, message } = each;
  const place = account === null ? {} : { account };
  return html`<article class="problem hold">
    ${marks.hold}
    <div class="stack">
      <div class="line">
        <span
          ><strong class="reason">${reason}</strong>
          <span class="muted">${brakeText(stops, each)}</span></span
        >
        ${began === null ? nothing : html`<span class="muted small">for ${since(began, now)}</span>`}
      </div>
      <p class="text">${withCode(message)}</p>
      ${
        count === 0
          ? nothing
          : html`<p class="who">
              <a href=${linkTo(['objects'], { reason, ...place })}>${counted(count, 'object')}</a>
            </p>`
      }
    </div>
  </article>`;
}

function accountPanel(each: AccountFacts, now: Now): TemplateResult {
  const { account: name, failure, quotas, capacity, requests, balanceMicros, burnMicrosPerHour } = each;
  const rows: readonly (readonly [string, unknown])[] = [
    ['Read', html`${ago(each.readAt ?? undefined, now)}, every ${each.pollSeconds} s${quietly(each)}`],
    [
      'Requests',
      requests &&
        html`${
          requests.perSecond < requests.limitPerSecond
            ? `slowed to ${requests.perSecond} of ${requests.limitPerSecond}`
            : `up to ${requests.limitPerSecond}`
        }
        a
        second${
          requests.waiting > 0 ? `; ${requests.waiting} wait` : ''
        }${requests.throttled > 0 ? `; ${requests.throttled} answered with 429` : ''}${
          requests.closedUntil === null ? nothing : html`; none until ${moment(requests.closedUntil, now)}`
        }`,
    ],
    ['Balance', balanceMicros !== null && usd(balanceMicros)],
    ['Cost now', burnMicrosPerHour !== null && `${usd(burnMicrosPerHour)}/h`],
  ];
  return html`<section class="panel" aria-label=${name}>
    <header>
      <h2><a href=${linkTo(['objects'], { account: name })}>${name}</a></h2>
      <span class="now"
        >${condition(each)}
        <a class="small" href=${linkTo(['timeline'], { account: name })}>Timeline</a></span
      >
    </header>
    <div class="body stack">
      ${failure === null ? nothing : html`<p>${state('bad', failure.reason)} ${failure.message}</p>`}
      <dl class="facts">
        ${rows.map(([label, value]) =>
          value
            ? html`<dt>${label}</dt>
                <dd>${value}</dd>`
            : nothing,
        )}
      </dl>
    </div>
    ${
      quotas.length === 0
        ? nothing
        : html`<div class="body stack">
            <h3>Quotas</h3>
            <div class="quotas">${quotas.map(quota)}</div>
          </div>`
    }
    ${
      capacity.length === 0
        ? nothing
        : html`<div class="body stack">
            <h3>Capacity</h3>
            ${capacityOf(capacity, now)}
          </div>`
    }
  </section>`;
}

function condition({ up, isStale, failure, readAt }: AccountFacts): TemplateResult {
  if (readAt === null) return state('idle', 'Not read yet');
  if (isStale) return state('idle', 'Stale');
  if (failure !== null || !up) return state('bad', 'Failing');
  return state('ok', 'Connected');
}

function quota({ resource, used, limit }: AccountFacts['quotas'][number]): TemplateResult {
  const text = `${used} of ${limit}`;
  return html`<div>
    <div class="line small"><span class="muted">${resource}</span><span>${text}</span></div>
    ${bar({ used, limit, label: `${resource}: ${text}` })}
  </div>`;
}

/** What is short is shown at once, and what was granted lately on request. */
function capacityOf(capacity: AccountFacts['capacity'], now: Now): TemplateResult {
  const scarce = capacity.filter((each) => each.state === 'Scarce');
  const granted = capacity.filter((each) => each.state !== 'Scarce');
  return html`
    ${scarce.length === 0 ? html`<p class="muted">Nothing was refused lately.</p>` : capacityTable(scarce, now)}
    ${
      granted.length === 0
        ? nothing
        : html`<details>
            <summary>${counted(granted.length, 'size')} granted</summary>
            ${capacityTable(granted, now)}
          </details>`
    }
  `;
}

function capacityTable(capacity: AccountFacts['capacity'], now: Now): TemplateResult {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Capacity">
    <table class="stacked">
      <tbody>
        ${capacity.map((each) => {
          const isScarce = each.state === 'Scarce';
          return html`<tr>
            <th scope="row">${state(isScarce ? 'wait' : 'ok', isScarce ? 'full' : 'available')}</th>
            <td class="wide">
              ${[each.region, each.geography].filter((part) => part !== '').join(', ')}
              <div class="muted small">${sizeText(each)}</div>
            </td>
            <td class="wide">
              ${each.failures > 0 ? `refused ${each.failures}×` : ''}
              ${each.message === null ? nothing : html`<div class="muted small">${each.message}</div>`}
            </td>
            <td class="number muted">
              ${each.retryAt === null ? ago(each.since, now) : html`next attempt ${moment(each.retryAt, now)}`}
            </td>
          </tr>`;
        })}
      </tbody>
    </table>
  </div>`;
}
