/**
 * What a service takes from its template: image, command, resources, httpPort and sleepAfterMinutes, as far as its
 * own spec does not give them, and the names of variables that it has to be given.
 *
 * | the service                                  | takes                                                       |
 * |----------------------------------------------|-------------------------------------------------------------|
 * | is created                                   | what the template gives now                                 |
 * | exists, and took it from this template       | what it took then; `templateUpdates: Apply`: what it gives now |
 * | exists, and was found or adopted             | what it has                                                 |
 * | exists, and its spec refers to another template than before | what that one gives now                      |
 *
 * So a changed template never affects a running service by itself (§4 rule 4); the service is only reported as
 * outdated. What it took is recorded with the mutation that applies it.
 */
import type { wire } from '../../api/index.ts';
import { wholeResources } from '../../api/wire.ts';
import { sameValue } from '../../base/index.ts';
import { holdFor, waitFor, type Difference, type Plan } from '../../engine/plan/index.ts';
import {
  annotations,
  type ContainerServiceSpec,
  type TemplateValues,
  type ServiceState,
} from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';
import type { ServiceInputs, TemplateField, TemplateState, TemplateView } from './inputs.ts';

export interface TemplateResolution {
  /** The spec of the service with what it takes filled in. */
  readonly spec: ContainerServiceSpec;
  /** To be remembered once that has been applied, or seen in place. */
  readonly taken: ServiceState['template'];
  readonly state: TemplateState;
}

export const templateFields = [
  'image',
  'command',
  'resources',
  'httpPort',
  'sleepAfterMinutes',
] as const satisfies readonly TemplateField[];

export function resolveTemplate(
  spec: ContainerServiceSpec,
  record: ObjectRecord<ServiceState>,
  view: TemplateView,
  service: wire.Service | undefined,
): TemplateResolution {
  const name = spec.templateRef?.name;
  if (name === undefined) return { spec, taken: undefined, state: { kind: 'none' } };
  const before = takenBefore(spec, record, name, view, service);
  const now = view.kind === 'usable' ? view.values : undefined;
  const values = spec.templateUpdates === 'Apply' ? (now ?? before) : (before ?? now);
  if (!values) {
    const state: TemplateState =
      view.kind === 'problem' || view.kind === 'not-ready'
        ? view
        : { kind: 'not-ready', message: `the template ${name} has not been observed yet` };
    return { spec, taken: record.kind.template, state };
  }
  return {
    spec: withTaken(spec, values),
    taken: { name, values },
    state: takenState(spec, name, values, view),
  };
}

type Taking = Partial<Pick<ContainerServiceSpec, TemplateField>>;

/** `values`: what is taken of the template of this name. `view`: what it gives now. */
export function takenState(
  spec: Taking,
  name: string,
  values: TemplateValues,
  view: TemplateView,
): TemplateState {
  const now = view.kind === 'usable' ? view.values : undefined;
  const gone = view.kind === 'usable' && values === now ? (view.takenOut ?? []) : [];
  const takenOut = gone.filter((field) => spec[field] === undefined);
  return {
    kind: 'resolved',
    name,
    ...(takenOut.length > 0 ? { takenOut } : {}),
    requiredEnvironment: values.requiredEnvironment,
    outdated: now
      ? templateFields.filter((field) => spec[field] === undefined && differs(values, now, field))
      : [],
    missing: view.kind === 'problem' ? view.message : undefined,
  };
}

/** What a service that exists has of this template. */
function takenBefore(
  spec: ContainerServiceSpec,
  record: ObjectRecord<ServiceState>,
  name: string,
  view: TemplateView,
  service: wire.Service | undefined,
): TemplateValues | undefined {
  if (record.externalId === undefined) return undefined;
  const { template } = record.kind;
  if (template?.name === name) return template.values;
  const isNewHere = Object.keys(record.applied).length === 0;
  if (!isNewHere || !service || spec.templateUpdates === 'Apply') return undefined;
  return templateValues(service, view.kind === 'usable' ? view.values.requiredEnvironment : []);
}

/** What a service or a template shows of the fields that a template gives; what it has none of is not given. */
export function templateValues(
  shown: Pick<wire.Service, TemplateField>,
  requiredEnvironment: readonly string[],
): TemplateValues {
  const { image, command, resources, httpPort, sleepAfterMinutes } = shown;
  const whole = wholeResources(resources);
  return {
    ...(image ? { image } : {}),
    ...(Array.isArray(command) ? { command } : {}),
    ...(whole ? { resources: whole } : {}),
    ...(httpPort ? { httpPort } : {}),
    ...(sleepAfterMinutes ? { sleepAfterMinutes } : {}),
    requiredEnvironment,
  };
}

/** With what is taken of a template filled in. */
export function withTaken<Spec extends Taking>(spec: Spec, values: TemplateValues): Spec {
  const { requiredEnvironment: _names, ...defaults } = values;
  return { ...defaults, ...given(spec) } as Spec;
}

function given<Values extends object>(values: Values): Partial<Values> {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined),
  ) as Partial<Values>;
}

function differs(left: TemplateValues, right: TemplateValues, field: TemplateField): boolean {
  return !sameValue(left[field] ?? null, right[field] ?? null);
}

/** As if the template were already as the plan makes it: only the API's default for what it does not give is not known. */
export function withAwaitedTemplate(
  inputs: ServiceInputs,
): { readonly inputs: ServiceInputs; readonly message: string } | undefined {
  const { template, object } = inputs;
  const { spec } = object;
  if (template.kind === 'not-ready' && template.values) {
    const { message, values } = template;
    return { inputs: withoutTemplate(inputs, withTaken(spec, values)), message };
  }
  const message = awaitedDefaults(template);
  if (template.kind !== 'resolved' || message === undefined) return undefined;
  const unset = Object.fromEntries((template.takenOut ?? []).map((field) => [field, undefined]));
  return { inputs: withoutTemplate(inputs, { ...spec, ...unset }), message };
}

function withoutTemplate(inputs: ServiceInputs, spec: ContainerServiceSpec): ServiceInputs {
  return { ...inputs, object: { ...inputs.object, spec }, template: { kind: 'none' } };
}

/** Why it is not known what a template gives when the plan is done. */
export function awaitedDefaults(template: TemplateState): string | undefined {
  if (template.kind !== 'resolved' || !template.takenOut?.length) return undefined;
  const { name, takenOut } = template;
  return `ServiceTemplate ${name} gives no ${takenOut.join(', ')} any more, and the API's default is not known yet`;
}

/** The plan of a service that exists and follows a template, with what is taken out of that. */
export function withTakenOut({ template, object }: ServiceInputs, service: wire.Service, plan: Plan): Plan {
  const message = awaitedDefaults(template);
  const isPaused = object.annotations[annotations.paused] === 'true';
  if (template.kind !== 'resolved' || message === undefined || isPaused) return plan;
  const unknown = (template.takenOut ?? []).map((path): Difference => {
    return { path, desired: defaultOfApi, observed: service[path] ?? null, drift: false };
  });
  const differences = [...plan.differences, ...unknown];
  if (plan.kind === 'wait') return { ...plan, differences, unforeseen: true };
  const isKept = plan.kind === 'act' && plan.step.reason !== 'Replace';
  if (plan.kind !== 'in-sync' && !isKept) return plan;
  const steps = plan.kind === 'act' ? [plan.step, ...plan.later] : [];
  return waitFor('TemplateNotReady', message, { steps, differences });
}

/** A value that shows only when the API has filled it in. */
export const defaultOfApi = '(default of the API)';

// ---- what stands in the way --------------------------------------------------------------------------

/** `service` undefined: it is to be created. */
export function templateObstacle(
  inputs: ServiceInputs,
  service: wire.Service | undefined,
  differences: readonly Difference[],
): Plan | undefined {
  const { template, object } = inputs;
  switch (template.kind) {
    case 'none':
      return undefined;
    case 'not-ready': {
      const { requiredEnvironment = [] } = service ? {} : (template.values ?? {});
      return (
        lackingObstacle(
          inputs,
          { name: object.spec.templateRef?.name, requiredEnvironment },
          service,
          differences,
        ) ?? waitFor('TemplateNotReady', template.message, { differences })
      );
    }
    case 'problem':
      return holdFor(template.reason, template.message, { path: template.path, differences });
    case 'resolved': {
      const lacking = lackingObstacle(inputs, template, service, differences);
      if (lacking) return lacking;
      const absent = service
        ? undefined
        : (['image', 'resources'] as const).find((field) => object.spec[field] === undefined);
      return absent === undefined
        ? undefined
        : holdFor(
            'InvalidReference',
            `neither the service nor its template ${template.name} gives ${absent}; add it`,
            {
              path: ['spec', absent],
              differences,
            },
          );
    }
  }
}

function lackingObstacle(
  inputs: ServiceInputs,
  {
    name,
    requiredEnvironment,
  }: { readonly name: string | undefined; readonly requiredEnvironment: readonly string[] },
  service: wire.Service | undefined,
  differences: readonly Difference[],
): Plan | undefined {
  const lacking = lackingVariables(inputs, requiredEnvironment, service);
  if (lacking.length === 0) return undefined;
  const message = `the template ${name} requires ${lacking.join(', ')}; add ${lacking.length > 1 ? 'them' : 'it'} to env`;
  return holdFor('MissingEnvironment', message, { path: ['spec', 'env'], differences });
}

function lackingVariables(
  { environment }: ServiceInputs,
  required: readonly string[],
  service: wire.Service | undefined,
): string[] {
  if (environment.kind === 'problem') return [];
  if (environment.kind === 'given') {
    const values = environment.values.reveal();
    return required.filter((name) => !Object.hasOwn(values, name));
  }
  // Not managed: a service that exists has its own.
  if (!service) return [...required];
  const { environmentNames } = service;
  return environmentNames ? required.filter((name) => !environmentNames.includes(name)) : [];
}
