/** What everything costs, by whom, and against which budget. Pure. */
import { html, nothing, type TemplateResult } from 'lit-html';
import { changeText, counted, duration, percent, placesOf, sizeText, upperFirst, usd } from '../format.ts';
import { bar } from '../parts/bar.ts';
import { healthState } from '../parts/health.ts';
import { objectHref } from '../parts/links.ts';
import { ago, perHour, type Now } from '../parts/texts.ts';
import { linkTo } from '../route.ts';
import type { Budget, Money } from '../shapes.ts';

const sorts = ['namespace', 'account', 'fleet'] as const;

/** What a label groups by is typed: `label=team`. */
const labelPrefix = 'label=';

export function moneyView(
  money: Money,
  onFilter: (query: Readonly<Record<string, string>>) => void,
  now: Now,
): TemplateResult {
  const { by, isComplete } = money;
  const label = by.startsWith(labelPrefix) ? by.slice(labelPrefix.length) : '';
  const grouping = label === '' ? by : `label ${label}`;
  return html`
    <header class="top">
      <div>
        <h1>Money</h1>
        <p>${headline(money)}</p>
      </div>
      ${groupings(by, label, onFilter)}
    </header>
    ${isComplete ? nothing : html`<p class="banner">An account can't be read, so not everything is counted.</p>`}
    ${figures(money)} ${budgets(money)}
    <div class="grid2">${groups(money, grouping)} ${mostExpensive(money)}</div>
    ${accounts(money)} ${priceChanges(money, now)}
  `;
}

function groupings(
  by: string,
  label: string,
  onFilter: (query: Readonly<Record<string, string>>) => void,
): TemplateResult {
  return html`<div class="filters">
    <nav class="choices" aria-label="Grouping">
      ${sorts.map(
        (name) =>
          html`<a href=${linkTo(['money'], { by: name })} aria-current=${name === by ? 'true' : 'false'}
            >by ${name}</a
          >`,
      )}
    </nav>
    <input
      name="label"
      maxlength="300"
      aria-label="By label"
      placeholder="by label, such as team"
      .value=${label}
      @change=${({ target }: Event) => {
        const key = (target as HTMLInputElement).value.trim();
        onFilter(key === '' ? {} : { by: `${labelPrefix}${key}` });
      }}
    />
  </div>`;
}

/** An account that can't be read costs something all the same. */
function headline({ total }: Money): string {
  return total.unpriced > 0 ? `${counted(total.unpriced, 'object')} without a known price` : '';
}

function figures({ total, accounts: all, isComplete }: Money): TemplateResult {
  const isKnown = isComplete || all.some(({ burnMicrosPerHour }) => burnMicrosPerHour !== null);
  const least = isComplete ? '' : 'at least ';
  const runways = all.flatMap(({ runwaySeconds }) => runwaySeconds ?? []);
  const months = all.flatMap(({ forecastMicros }) => forecastMicros ?? []);
  const sum = months.reduce((left, micros) => left + micros, 0);
  return html`<dl class="figures">
    <div>
      <dt>Cost now</dt>
      <dd>${isKnown ? html`${least}${usd(total.hourlyMicros)}<small>/h</small>` : 'not known'}</dd>
    </div>
    <div>
      <dt>A month of 730 h at this rate</dt>
      <dd>${isKnown ? `${least}${usd(total.hourlyMicros * 730)}` : 'not known'}</dd>
    </div>
    <div>
      <dt>This month, expected</dt>
      <dd>${months.length === all.length && all.length > 0 ? usd(sum) : '–'}</dd>
    </div>
    <div>
      <dt>Balance lasts</dt>
      <dd>${runways.length === 0 ? '–' : duration(1000 * Math.min(...runways))}</dd>
    </div>
  </dl>`;
}

/** Of what a fleet owns. */
const fleetLabel = 'fleetkeeper.dev/fleet';

/** To the objects of the group. */
function groupLink(by: string, name: string | null): unknown {
  if (name === null) return 'without';
  const sort = 'cost';
  if (by === 'namespace' || by === 'account')
    return html`<a href=${linkTo(['objects'], { [by]: name, sort })}>${name}</a>`;
  // What would mean something else in a selector is no value that Kubernetes allows.
  if (!/^[\w.-]+$/.test(name)) return name;
  const key = by === 'fleet' ? fleetLabel : by.slice(labelPrefix.length);
  return html`<a href=${linkTo(['objects'], { label: `${key}=${name}`, sort })}>${name}</a>`;
}

function groups({ total, by, unmanaged, rows, omitted }: Money, grouping: string): TemplateResult {
  const spent = spentColumns(rows);
  const lines = [...rows, ...(unmanaged.things > 0 ? [unmanaged] : [])];
  const places = placesOf(lines.map(({ hourlyMicros }) => hourlyMicros));
  return html`<section class="panel" aria-labelledby="groups">
    <header><h2 id="groups">By ${grouping}</h2></header>
    <div class="scroll" tabindex="0" role="region" aria-labelledby="groups">
      <table>
        ${total.things > 0 ? groupHead(upperFirst(grouping), spent !== undefined) : nothing}
        <tbody>
          ${rows.map((row) => costLine(groupLink(by, row.name), row, total, places, spent))}
          ${
            omitted > 0
              ? html`<tr>
                  <td class="muted" colspan=${spent ? 5 : 3}>${omitted} more</td>
                </tr>`
              : nothing
          }
          ${
            unmanaged.things > 0
              ? costLine('not managed by Fleetkeeper', unmanaged, total, places, spent)
              : nothing
          }
        </tbody>
      </table>
    </div>
  </section>`;
}

/** How many decimals they have. */
interface SpentColumns {
  readonly spent: number;
  readonly expected: number;
}

/** Undefined: of no group it is known what it has spent. */
function spentColumns(rows: Money['rows']): SpentColumns | undefined {
  if (rows.every(({ spentMicros }) => spentMicros === null)) return undefined;
  return {
    spent: placesOf(rows.map(({ spentMicros }) => spentMicros)),
    expected: placesOf(rows.map(({ forecastMicros }) => forecastMicros)),
  };
}

function groupHead(grouping: string, isCounted: boolean): TemplateResult {
  return html`<thead>
    <tr>
      <th scope="col">${grouping}</th>
      <th scope="col" class="number">Cost now</th>
      <th scope="col" class="number">Share</th>
      ${
        isCounted
          ? html`<th scope="col" class="number">Spent this month</th>
              <th scope="col" class="number roomy">Expected</th>`
          : nothing
      }
    </tr>
  </thead>`;
}

function costLine(
  name: unknown,
  { things, hourlyMicros, spentMicros, estimatedMicros, forecastMicros, countedSince }: Money['total'],
  total: Money['total'],
  places: number,
  columns: SpentColumns | undefined,
): TemplateResult {
  const estimated = estimatedMicros ?? 0;
  return html`<tr>
    <th scope="row" class="wide">${name} <span class="muted small">${counted(things, 'object')}</span></th>
    <td class="number">${perHour(hourlyMicros, places)}</td>
    <td class="number muted">${percent(hourlyMicros, total.hourlyMicros)}</td>
    ${
      columns
        ? html`<td class="number" title=${countedSince === null ? nothing : `counted since ${countedSince}`}>
              ${spentMicros === null ? '–' : usd(spentMicros, columns.spent)}
              ${estimated > 0 ? html`<div class="muted small">${usd(estimated)} of it estimated</div>` : nothing}
            </td>
            <td class="number roomy">
              ${forecastMicros === null ? '–' : usd(forecastMicros, columns.expected)}
            </td>`
        : nothing
    }
  </tr>`;
}

function mostExpensive({ mostExpensive: all }: Money): TemplateResult {
  const rows = all.slice(0, 10);
  const places = placesOf(rows.map(({ hourlyMicros }) => hourlyMicros));
  return html`<section class="panel" aria-labelledby="expensive">
    <header><h2 id="expensive">Most expensive</h2></header>
    <div class="scroll" tabindex="0" role="region" aria-labelledby="expensive">
      <table>
        <tbody>
          ${rows.map(
            ({ key, name, kind, hourlyMicros, health }) =>
              html`<tr>
                <td class="wide">
                  <a href=${objectHref(key)}>${name}</a> <span class="muted small">${kind}</span>
                </td>
                <td>${healthState(health)}</td>
                <td class="number">${hourlyMicros === null ? '–' : perHour(hourlyMicros, places)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}

function budgets({ budgets: all }: Money): TemplateResult | typeof nothing {
  if (all.length === 0) return nothing;
  return html`<section class="panel" aria-labelledby="budgets">
    <header><h2 id="budgets">Budgets</h2></header>
    <ul>
      ${all.map(budget)}
    </ul>
  </section>`;
}

export function budget(each: Budget): TemplateResult {
  const { key, mode, health, waiting, month } = each;
  const { hourlyMicros, hourlyLimitMicros, reservedMicros, spentMicros, monthlyLimitMicros, forecastMicros } =
    each;
  const [, namespace = '', name = ''] = key.split('/');
  return html`<li class="body budget">
    <div class="line">
      <span
        ><a href=${objectHref(key)}>${name}</a> <span class="muted small">${namespace}, ${mode}</span></span
      >
      <span class="now"
        >${healthState(health)}${
          waiting > 0
            ? html` <a href=${linkTo(['objects'], { reason: 'BudgetExceeded' })}
                >${counted(waiting, 'object waits', 'objects wait')} for it</a
              >`
            : nothing
        }</span
      >
    </div>
    ${
      hourlyLimitMicros === null
        ? nothing
        : limit('Now', hourlyMicros, hourlyLimitMicros, '/h', { reserved: reservedMicros ?? 0 })
    }
    ${
      monthlyLimitMicros === null
        ? nothing
        : limit(month ?? 'This month', spentMicros, monthlyLimitMicros, '', {
            forecast: forecastMicros ?? undefined,
          })
    }
  </li>`;
}

function limit(
  name: string,
  shown: number | null,
  most: number,
  unit: string,
  more: { reserved?: number; forecast?: number | undefined },
): TemplateResult {
  const { reserved = 0, forecast } = more;
  const used = shown ?? 0;
  const extra = [
    ...(reserved > 0 ? [`${usd(reserved)}${unit} reserved`] : []),
    ...(forecast === undefined ? [] : [`${usd(forecast)} expected`]),
  ];
  const text =
    shown === null
      ? `not known, of ${usd(most)}${unit}`
      : `${usd(used)} of ${usd(most)}${unit}, ${percent(used, most)}`;
  return html`<div>
    <div class="line small">
      <span class="muted">${name}</span
      ><span
        >${text}${extra.length > 0 ? html`<span class="muted">, ${extra.join(', ')}</span>` : nothing}</span
      >
    </div>
    ${bar({ used, limit: most, reserved, forecast, label: `${name}: ${text}` })}
  </div>`;
}

function accounts({ accounts: all }: Money): TemplateResult {
  const balances = placesOf(all.map(({ balanceMicros }) => balanceMicros));
  const costs = placesOf(all.map(({ burnMicrosPerHour }) => burnMicrosPerHour));
  const months = placesOf(all.map(({ forecastMicros }) => forecastMicros));
  return html`<section class="panel" aria-labelledby="balances">
    <header><h2 id="balances">Balances</h2></header>
    <div class="scroll" tabindex="0" role="region" aria-labelledby="balances">
      <table>
        <thead>
          <tr>
            <th scope="col">Account</th>
            <th scope="col" class="number">Balance</th>
            <th scope="col" class="number roomy">Cost now</th>
            <th scope="col" class="number">Lasts</th>
            <th scope="col" class="number roomy">This month</th>
          </tr>
        </thead>
        <tbody>
          ${all.map(
            ({ account, balanceMicros, burnMicrosPerHour, runwaySeconds, forecastMicros }) =>
              html`<tr>
                <td class="wide">${account}</td>
                <td class="number">${balanceMicros === null ? '–' : usd(balanceMicros, balances)}</td>
                <td class="number roomy">${perHour(burnMicrosPerHour ?? undefined, costs)}</td>
                <td class="number">${runwaySeconds === null ? '–' : duration(1000 * runwaySeconds)}</td>
                <td class="number roomy">
                  ${forecastMicros === null ? '–' : `about ${usd(forecastMicros, months)}`}
                </td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}

function priceChanges({ priceChanges: all }: Money, now: Now): TemplateResult | typeof nothing {
  if (all.length === 0) return nothing;
  const places = placesOf(all.flatMap(({ beforeMicros, hourlyMicros }) => [beforeMicros, hourlyMicros]));
  return html`<section class="panel" aria-labelledby="prices">
    <header>
      <h2 id="prices">Price changes</h2>
      <span class="muted small">of the last 30 days</span>
    </header>
    <div class="scroll" tabindex="0" role="region" aria-labelledby="prices">
      <table>
        <tbody>
          ${all.map(
            ({ account, at, region, geography, gpuModel, beforeMicros, hourlyMicros, ...size }) =>
              html`<tr>
                <th scope="row" class="wide">
                  ${sizeText(size)}${gpuModel === null ? '' : ` (${gpuModel})`}
                  <div class="muted small">${region}, ${geography} in ${account}</div>
                </th>
                <td class="number">
                  <span class="muted">${usd(beforeMicros, places)} →</span> ${perHour(hourlyMicros, places)}
                </td>
                <td class="number">${changeText(beforeMicros, hourlyMicros)}</td>
                <td class="number muted roomy">${ago(at, now)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}
