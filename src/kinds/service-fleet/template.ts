/**
 * What a fleet takes of the ServiceTemplate that its template refers to: image, command, resources, httpPort and sleepAfterMinutes, as
 * far as its document does not give them. A revision has the values, so all replicas of a revision have the same, and a rollback needs
 * no template. Replicas do not refer to it.
 *
 * | with what it took, the document is as                  | `Ignore`                     | `Apply`                     |
 * |--------------------------------------------------------|------------------------------|-----------------------------|
 * | the revision that it was last, or the newest Healthy one | what that revision took    | what the template gives now |
 * | neither of them: a new revision                        | what the template gives now  | what the template gives now |
 * | nobody knows: the state was lost, and replicas are there | what one of them has       | what the template gives now |
 *
 * While the template can't be read, a revision keeps what it took, and no new one is made. What a revision took is remembered for the
 * one that the document requires and for the newest Healthy one, by their numbers. Another text is a new revision; other values of
 * Secrets and ConfigMaps are no reason to take something else.
 */
import type { wire } from '../../api/index.ts';
import { holdFor, waitFor, type Plan } from '../../engine/plan/index.ts';
import type { TemplateValues } from '../../resources/index.ts';
import type { OwnerRevision } from '../../state/index.ts';
import type { TemplateState, TemplateView } from '../container-service/inputs.ts';
import { takenState, templateValues, withTaken } from '../container-service/template.ts';
import { contentOf, hasText } from './revisions.ts';
import type { ReplicaTemplate, ServiceFleetSpec } from './schema.ts';
import type { FleetState, ReplicaPlace, TakenEntry } from './state.ts';

/** Where the template of a fleet stands in its document. */
export const templatePath = ['spec', 'template', 'spec'] as const;

/** A replica whose revision nobody knows, as the API shows it. */
export interface ShownReplica {
  readonly service: wire.Service;
  readonly place: ReplicaPlace;
}

export interface ResolvedTemplate {
  /** With what it takes filled in. */
  readonly spec: ServiceFleetSpec;
  /** To be remembered of the revision that the document requires. */
  readonly ofTemplate: Omit<TakenEntry, 'revision'> | undefined;
  readonly template: TemplateState;
  /** Why no revision can be made of the document now. */
  readonly problem: Plan | undefined;
}

export interface Known {
  readonly state: Pick<FleetState, 'taken'>;
  /** The revision that the document required in the last pass. */
  readonly update: OwnerRevision | undefined;
  readonly healthy: OwnerRevision | undefined;
  /** Of a fleet whose revisions were lost. */
  readonly shown: ShownReplica | undefined;
}

export function resolveTemplate(spec: ServiceFleetSpec, known: Known, view: TemplateView): ResolvedTemplate {
  const { templateRef, templateUpdates } = spec.template.spec;
  if (!templateRef) return { spec, ofTemplate: undefined, template: { kind: 'none' }, problem: undefined };
  const { name } = templateRef;
  const now = view.kind === 'usable' ? view.values : undefined;
  const before = takenBefore(spec, known, now);
  const values = templateUpdates === 'Apply' ? (now ?? before) : (before ?? now);
  if (!values) {
    const last = takenOf(known.state, known.update?.number, name);
    return {
      spec: last ? filledIn(spec, last) : spec,
      ofTemplate: undefined,
      template: notRead(view, name),
      problem: unreadable(view, name),
    };
  }
  const resolved = filledIn(spec, values);
  const isNew = !known.update || !hasText(known.update, textOf(resolved));
  return {
    spec: resolved,
    ofTemplate: { name, values },
    template: takenState(spec.template.spec, name, values, view),
    problem: isNew ? lacking(resolved, name, values) : undefined,
  };
}

/** What the document requires of its template when nothing new is taken. */
function takenBefore(
  spec: ServiceFleetSpec,
  { state, update, healthy, shown }: Known,
  now: TemplateValues | undefined,
): TemplateValues | undefined {
  const name = spec.template.spec.templateRef?.name;
  for (const revision of [update, healthy]) {
    const values = revision && takenOf(state, revision.number, name);
    if (values && hasText(revision, textOf(filledIn(spec, values)))) return values;
  }
  if (update || !shown) return undefined;
  const values = templateValues(shown.service, now?.requiredEnvironment ?? []);
  const { resources: _ofCandidate, ...others } = values;
  if (!shown.place.resources) return values;
  return now?.resources ? { ...others, resources: now.resources } : others;
}

/** The spec of a fleet as the revision that its document required last has it, for replicas whose revision is not known. */
export function asRemembered(spec: ServiceFleetSpec, state: FleetState): ServiceFleetSpec {
  const values = takenOf(state, state.update, spec.template.spec.templateRef?.name);
  return values ? filledIn(spec, values) : spec;
}

/** What is remembered once the document requires this revision. */
export function takenWith(
  state: Pick<FleetState, 'taken'>,
  ofTemplate: ResolvedTemplate['ofTemplate'],
  { number, healthy }: { readonly number: number; readonly healthy: number | undefined },
): Pick<FleetState, 'taken'> {
  const others = (state.taken ?? []).filter(({ revision }) => revision === healthy && revision !== number);
  const next = ofTemplate ? [...others, { ...ofTemplate, revision: number }] : others;
  return next.length > 0 ? { taken: next } : { taken: undefined };
}

/** The document has what this revision has, and has taken it of another template than is remembered. */
export function isTakenAnew(
  state: Pick<FleetState, 'taken'>,
  ofTemplate: ResolvedTemplate['ofTemplate'],
  number: number,
): boolean {
  return ofTemplate !== undefined && takenOf(state, number, ofTemplate.name) === undefined;
}

function takenOf(
  { taken = [] }: Pick<FleetState, 'taken'>,
  number: number | undefined,
  template: string | undefined,
): TemplateValues | undefined {
  return taken.find(({ revision, name }) => revision === number && name === template)?.values;
}

function filledIn(spec: ServiceFleetSpec, values: TemplateValues): ServiceFleetSpec {
  const own: ReplicaTemplate = withTaken(spec.template.spec, values);
  return { ...spec, template: { ...spec.template, spec: own } };
}

function textOf({ template, storage }: ServiceFleetSpec) {
  return contentOf(template.spec, storage?.perReplica?.sizeGb);
}

// ---- what stands in the way --------------------------------------------------------------------------

function notRead(view: TemplateView, name: string): TemplateState {
  return view.kind === 'problem' || view.kind === 'not-ready'
    ? view
    : { kind: 'not-ready', message: `the template ${name} has not been observed yet` };
}

function unreadable(view: TemplateView, name: string): Plan {
  const state = notRead(view, name);
  return state.kind === 'problem'
    ? holdFor(state.reason, state.message, { path: state.path })
    : waitFor('TemplateNotReady', state.kind === 'not-ready' ? state.message : '');
}

/** What neither the document nor the template gives. */
function lacking(
  { template: { spec } }: ServiceFleetSpec,
  name: string,
  { requiredEnvironment }: TemplateValues,
): Plan | undefined {
  const given = new Set(spec.env?.map((variable) => variable.name));
  const variables = requiredEnvironment.filter((each) => !given.has(each));
  if (variables.length > 0) {
    const message = `the template ${name} requires ${variables.join(', ')}; add ${variables.length > 1 ? 'them' : 'it'} to env`;
    return holdFor('MissingEnvironment', message, { path: [...templatePath, 'env'] });
  }
  const absent = (['image', 'resources'] as const).find((field) => spec[field] === undefined);
  if (absent === undefined) return undefined;
  const message = `neither the fleet nor its template ${name} gives ${absent}; add it`;
  return holdFor('InvalidReference', message, { path: [...templatePath, absent] });
}
