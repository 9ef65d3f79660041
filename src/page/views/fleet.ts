/** A ServiceFleet: its slots as cells, the steps of its rollout, its revisions, and the commands that apply now. Pure. */
import { html, nothing, type TemplateResult } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import { counted, duration } from '../format.ts';
import { bar } from '../parts/bar.ts';
import { commandsPanel } from '../parts/commands.ts';
import { healthState, sentence, tones } from '../parts/health.ts';
import { objectHref } from '../parts/links.ts';
import { marks, type Tone } from '../parts/marks.ts';
import { ago, state, withTimes, type Now } from '../parts/texts.ts';
import type { Fleet, Slot } from '../shapes.ts';

export interface FleetModel {
  readonly fleet: Fleet;
  readonly slots: readonly Slot[];
}

export function fleetView({ fleet, slots }: FleetModel, now: Now): TemplateResult {
  const { object, progress, counts } = fleet;
  const number = (name: string) => counts[name] ?? 0;
  const wanted = number('desiredReplicas');
  const revision = textIn(fleet.rollout?.['revision']);
  const updated =
    revision === ''
      ? number('updatedReplicas')
      : slots.filter(({ observedRevision }) => observedRevision === revision).length;
  return html`
    <header class="top">
      <div class="stack">
        <p class="crumbs">
          ServiceFleet in ${object.namespace}, <a href=${objectHref(object.key)}>conditions and document</a>
        </p>
        <h1>${object.name}</h1>
      </div>
      ${healthState(object.health)}
    </header>
    <section class="panel" aria-label="Why">
      <div class="body stack">
        <p class="sentence">${sentence(object.sentence, now)}</p>
        <p class="muted">${progress.message}</p>
        ${reasonsOf(slots, now)}
      </div>
    </section>
    <dl class="figures">
      <div>
        <dt>Available</dt>
        <dd>${number('availableReplicas')} <small>of ${wanted}</small></dd>
      </div>
      <div>
        <dt>${revision === '' ? 'Updated' : `At ${revision}`}</dt>
        <dd>${updated} <small>of ${wanted}</small></dd>
      </div>
      <div>
        <dt>Protected</dt>
        <dd>${slots.filter((slot) => slot.protected).length}</dd>
      </div>
      <div>
        <dt>Draining</dt>
        <dd>${number('drainingReplicas')}</dd>
      </div>
    </dl>
    ${rollout(fleet, updated, wanted)}
    <section class="panel" aria-labelledby="slots">
      <header><h2 id="slots">Replicas</h2></header>
      <div class="body slots">
        ${repeat(slots, ({ slot }) => slot, cell)}
        ${slots.length === 0 ? html`<span class="muted">There is none.</span>` : nothing}
      </div>
    </section>
    ${commandsPanel(fleet.commands)} ${revisions(fleet, now)}
  `;
}

const mostReasons = 5;

/** Why replicas are not as they are to be, so that nobody has to look for the broken one. */
function reasonsOf(slots: readonly Slot[], now: Now): TemplateResult | typeof nothing {
  const behind = slots.filter(({ health }) => health !== 'Healthy');
  if (behind.length === 0) return nothing;
  const rest = behind.length - mostReasons;
  return html`<ul class="reasons">
    ${behind
      .slice(0, mostReasons)
      .map(
        ({ slot, key, sentence: why }) =>
          html`<li><a href=${objectHref(key)}>Replica ${slot}</a> ${withTimes(lowerFirst(why), now)}</li>`,
      )}
    ${rest > 0 ? html`<li class="muted">and ${counted(rest, 'more replica')}</li>` : nothing}
  </ul>`;
}

function lowerFirst(text: string): string {
  return `${text.slice(0, 1).toLowerCase()}${text.slice(1)}`;
}

function cell(slot: Slot): TemplateResult {
  const { key, slot: number, health, observedRevision, revision, geography, region, phase } = slot;
  const place = geography ?? region;
  const shown = observedRevision ?? revision ?? 'no revision';
  const isOld = revision !== null && observedRevision !== null && revision !== observedRevision;
  return html`<a class="slot ${tones[health]}" href=${objectHref(key)} title=${slot.sentence}>
    <span class="line"><strong>${number}</strong> ${healthState(health)}</span>
    <span class="small">${isOld ? `${shown} → ${revision}` : shown}${place === '' ? '' : `, ${place}`}</span>
    <span class="muted small"
      >${[phase === 'wanted' ? '' : phase, slot.protected ? 'protected' : ''].filter(Boolean).join(', ')}</span
    >
  </a>`;
}

/** `updated` of the `wanted` replicas have its revision. */
function rollout(
  { rollout: now, steps }: Fleet,
  updated: number,
  wanted: number,
): TemplateResult | typeof nothing {
  if (now === null) return nothing;
  // It counts from 1; without one, all steps are done, and the rest of the replicas follow.
  const at = typeof now['step'] === 'number' ? now['step'] - 1 : steps.length;
  const phase = textIn(now['phase']);
  const hasFailed = failedPhases.has(phase);
  const revision = textIn(now['revision']);
  const progress = `${updated} of ${counted(wanted, 'replica')}${revision === '' ? '' : ` at ${revision}`}`;
  return html`<section class="panel" aria-labelledby="rollout">
    <header>
      <h2 id="rollout">Rollout</h2>
      ${state(hasFailed ? 'bad' : (phaseTones.get(phase) ?? 'idle'), phase)}
    </header>
    <div class="body stack">
      <div>
        <div class="line small"><span class="muted">Progress</span><span>${progress}</span></div>
        ${bar({ used: updated, limit: wanted, isProgress: true, label: progress })}
      </div>
      ${
        steps.length === 0
          ? nothing
          : html`<ol class="steps">
              ${[...steps.map(stepText), 'all replicas'].map((text, index) => {
                const isNow = index === at;
                // Of a revision that has failed, no step is good news.
                const tone = hasFailed ? 'idle' : index < at ? 'ok' : isNow ? 'busy' : 'idle';
                return html`<li aria-current=${isNow ? 'step' : 'false'}>
                  <span class="state ${tone}">${marks[tone]}${text}</span>
                </li>`;
              })}
            </ol>`
      }
      ${textIn(now['message']) === '' ? nothing : html`<p>${textIn(now['message'])}</p>`}
    </div>
  </section>`;
}

const phaseTones = new Map<string, Tone>([
  ['Progressing', 'busy'],
  ['Analysing', 'busy'],
  ['Paused', 'hold'],
  ['Frozen', 'hold'],
]);
const failedPhases = new Set(['RollingBack', 'RolledBack']);

function textIn(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** A step has one field. One of a newer version is shown as it is. */
function stepText(step: Readonly<Record<string, unknown>>): string {
  const { replicas, weight, pause } = step as {
    readonly replicas?: number;
    readonly weight?: number;
    readonly pause?: { readonly seconds?: number };
  };
  if (replicas !== undefined) return counted(replicas, 'replica');
  if (weight !== undefined) return `${weight} % of the replicas`;
  if (pause)
    return pause.seconds === undefined
      ? 'pause until promoted'
      : `pause of ${duration(1000 * pause.seconds)}`;
  return Object.entries(step)
    .map(([name, value]) => `${name} ${textIn(value)}`)
    .join(', ');
}

function revisions({ revisions: all }: Fleet, now: Now): TemplateResult | typeof nothing {
  if (all.length === 0) return nothing;
  return html`<section class="panel" aria-labelledby="revisions">
    <header><h2 id="revisions">Revisions</h2></header>
    <div class="scroll" tabindex="0" role="region" aria-labelledby="revisions">
      <table>
        <tbody>
          ${all.map(
            ({ name, outcome, at, image, reason }) =>
              html`<tr>
                <th scope="row">${name}</th>
                <td class="wide"><code>${image ?? ''}</code></td>
                <td class="wide">
                  ${state(outcome === 'Failed' ? 'bad' : outcome === 'Healthy' ? 'ok' : 'idle', outcome)}
                  ${reason === null ? nothing : html`<div class="muted small">${reason}</div>`}
                </td>
                <td class="number muted roomy">${ago(at, now)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}
