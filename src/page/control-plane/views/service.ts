/** One service: what it is, what protects it, and its events. Pure. */
import { html, nothing, type TemplateResult } from 'lit-html';
import { exactMoment, perHour, since, state, withTimes, type Now } from '../../parts/texts.ts';
import { hrefOf } from '../route.ts';
import type { Activity, ServiceDetail } from '../shapes.ts';
import { accountLink, endpointLink, nameOf, place, sizeOf, stateOf } from './parts.ts';

export function serviceView({ service, events, activities }: ServiceDetail, now: Now): TemplateResult {
  const { id, account, image, endpoint, error, doing, hourlyMicros, isCharged, createdAt } = service;
  const facts: readonly (readonly [string, unknown])[] = [
    ['Owner', accountLink(account)],
    ['Image', image],
    ['Place', place(service)],
    ['Size', sizeOf(service)],
    ['Price', html`${perHour(hourlyMicros)}${isCharged ? nothing : ', not charged now'}`],
    ['Endpoint', endpoint === null ? nothing : endpointLink(endpoint)],
    ['Created', html`${since(createdAt, now)} ago`],
    ['Id', html`<code>${id}</code>`],
  ];
  return html`
    <header class="top">
      <div>
        <p class="crumbs"><a href=${hrefOf('services')}>Services</a></p>
        <h1>${nameOf(service)}</h1>
        <p class="now">${stateOf(service.state)} ${doing ?? nothing}</p>
      </div>
    </header>
    ${error === null ? nothing : html`<p class="sentence">${withTimes(error, now)}</p>`}
    <section class="panel" aria-label="Facts">
      <dl class="body facts">
        ${facts.map(([label, value]) =>
          value === nothing
            ? nothing
            : html`<dt>${label}</dt>
                <dd>${value}</dd>`,
        )}
      </dl>
    </section>
    ${activities.length === 0 ? nothing : protection(activities, now)}
    <section class="panel" aria-labelledby="events">
      <header><h2 id="events">Events</h2></header>
      <div class="scroll" tabindex="0" role="region" aria-labelledby="events">
        <table class="stacked">
          <thead>
            <tr>
              <th scope="col">When</th>
              <th scope="col">What</th>
            </tr>
          </thead>
          <tbody>
            ${events.map(
              ({ at, message }) =>
                html`<tr>
                  <td class="muted">${exactMoment(at, now)}</td>
                  <td class="wide">${withTimes(message, now)}</td>
                </tr>`,
            )}
          </tbody>
        </table>
      </div>
    </section>
  `;
}

function protection(activities: readonly Activity[], now: Now): TemplateResult {
  return html`<section class="panel" aria-labelledby="activities">
    <header><h2 id="activities">Protected by</h2></header>
    <div class="scroll" tabindex="0" role="region" aria-labelledby="activities">
      <table class="stacked">
        <tbody>
          ${activities.map(
            ({ name, fresh, lastHeartbeatAt }) =>
              html`<tr>
                <td>${fresh ? state('ok', 'fresh') : state('wait', 'stale')}</td>
                <td class="wide">${name}</td>
                <td class="muted">last heartbeat ${since(lastHeartbeatAt, now)} ago</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}
