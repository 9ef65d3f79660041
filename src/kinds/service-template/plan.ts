/**
 * The planner of a ServiceTemplate.
 *
 *     absent ── create ──> there ── replace ──> there ── delete ──> gone
 *
 * A template has no life of its own: what is accepted is in place. A change replaces the whole specification (§2
 * "Template update body"), and what it leaves out takes its default again. So what the spec does not give is sent
 * back as it was read just before, and nobody else's settings are lost; what the API returns beyond the fields that
 * the contract names is not sent, because a specification has no other fields.
 *
 * Changing or deleting a template does not touch services (§4 rule 4).
 */
import { createTemplate, deleteTemplate, replaceTemplate } from '../../actions/index.ts';
import type { wire } from '../../api/index.ts';
import { limits } from '../../api/wire.ts';
import {
  compareFields,
  describedWithMark,
  fieldDigests,
  hasVanished,
  hidden,
  holdFor,
  holdForMassDrift,
  inSync,
  isRemoved,
  isSameImage,
  planLifecycle,
  proceed,
  readTemplateMark,
  shownDigests,
  markedUid,
  templateMark,
  waitFor,
  withoutTemplateMark,
  withUnrecorded,
  type Difference,
  type Field,
  type Plan,
  type Step,
} from '../../engine/plan/index.ts';
import { remoteName } from '../../resources/index.ts';
import type { TemplateInputs } from './inputs.ts';

export function planTemplate(inputs: TemplateInputs): Plan {
  return planLifecycle(inputs, {
    noun: 'template',
    create: () => planAbsent(inputs),
    change: (template) => planPresent(inputs, template),
    remove: (template) => planRemoval(inputs, template),
  });
}

function planAbsent(inputs: TemplateInputs): Plan {
  const { object, record, gates, templatesInAccount } = inputs;
  const vanished = hasVanished(inputs);
  const lost = vanished
    ? [{ path: 'template', desired: record.externalId, observed: null, drift: true }]
    : [];
  if (vanished && object.spec.driftPolicy === 'Report') return inSync(lost);
  const differences: Difference[] = [
    ...lost,
    ...templateFields(inputs, undefined)
      .filter(({ name, desired }) => desired !== undefined && name !== 'mark')
      .map(({ path, desired }) => ({ path, desired, observed: null, drift: vanished })),
  ];
  const action = createTemplate({ body: specificationOf(inputs, undefined) });
  const step: Step = { action, reason: vanished ? 'Vanished' : 'Create', disruptive: false, differences };
  if (templatesInAccount >= limits.templatesPerAccount) {
    return holdFor(
      'LimitReached',
      `the account already has ${templatesInAccount} templates, and the API allows ${limits.templatesPerAccount} (§8); delete one that is not needed`,
      { steps: [step], differences },
    );
  }
  return proceed(object, [step], differences, gates.creation);
}

function planPresent(inputs: TemplateInputs, template: wire.Template): Plan {
  const { object, record, owner } = inputs;
  const fields = templateFields(inputs, template);
  const all = [
    ...withUnrecorded(inputs, compareFields(fields.filter(isOfDocument), record, owner.digestKey)),
    ...compareFields(
      fields.filter((field) => !isOfDocument(field)),
      record,
      owner.digestKey,
    ),
    ...takenOut(inputs, template).map(({ path, observed }) => ({
      path,
      desired: null,
      observed: observed ?? hidden,
      drift: false,
    })),
  ];
  const differences = all.filter(
    ({ path }, index) => all.findIndex((other) => other.path === path) === index,
  );
  const kept = differences.filter(({ drift }) => drift && object.spec.driftPolicy === 'Correct');
  // All of it is sent at once.
  const isBraked = kept.some((item) => inputs.driftBrake(item));
  const correctable = differences.filter((item) => !item.drift || (kept.includes(item) && !isBraked));
  if (correctable.length === 0) {
    return holdForMassDrift(kept, inputs.driftBrake, { steps: [], differences }) ?? inSync(differences);
  }
  if (template.revision === undefined) return waitForRevision(differences);
  const action = replaceTemplate({
    id: template.id,
    revision: template.revision,
    spec: specificationOf(inputs, template),
  });
  const reason = correctable.every(({ drift }) => drift) ? 'Drift' : 'SpecChanged';
  const step: Step = { action, reason, disruptive: false, differences: correctable };
  return proceed(object, [step], differences, undefined);
}

const isOfDocument = ({ name }: Field) => name !== 'mark';

function planRemoval({ object, gates }: TemplateInputs, template: wire.Template): Plan {
  const differences = [{ path: 'template', desired: null, observed: template.id, drift: false }];
  if (template.revision === undefined) return waitForRevision(differences);
  const action = deleteTemplate({ id: template.id, revision: template.revision });
  const step: Step = { action, reason: 'Deleted', disruptive: false, differences };
  return proceed(object, [step], differences, gates.deletion);
}

function waitForRevision(differences: readonly Difference[]): Plan {
  const message = 'the API shows no revision of the template, and a change needs one (§4 rule 3)';
  return waitFor('AwaitingObservation', message, { differences });
}

type FieldInputs = Pick<TemplateInputs, 'object' | 'record' | 'owner'>;

/** What the document gave and gives no more, and the template still shows as it was given: it is to take its default again. */
export function takenOut(inputs: FieldInputs, template: wire.Template): Field[] {
  const { record, owner } = inputs;
  return templateFields(inputs, template).filter((field) => {
    const isAsGiven =
      field.observed === undefined || owner.digestKey.digest(field.observed) === record.applied[field.name];
    return field.name !== 'mark' && field.name !== 'templateName' && isRemoved(inputs, field) && isAsGiven;
  });
}

/** The whole specification: what the spec gives, and for the rest what is there. */
function specificationOf(inputs: TemplateInputs, template: wire.Template | undefined): wire.TemplateSpec {
  const { object, owner, record } = inputs;
  const { spec, name } = object;
  const unset = new Set(template ? takenOut(inputs, template).map((field) => field.name) : []);
  const kept = <Value>(field: string, value: Value) => (unset.has(field) ? undefined : value);
  const mayKeepName = spec.adopt !== undefined && spec.templateName === undefined;
  const keptName = mayKeepName ? template?.name : undefined;
  const text =
    spec.description ?? kept('description', withoutTemplateMark(template?.description ?? '')) ?? '';
  const seen = template?.resources;
  const resources = seen ? { gpuCount: seen.gpuCount, cpu: seen.cpu, memoryGb: seen.memoryGb } : undefined;
  const sleep =
    spec.sleepAfterMinutes === undefined
      ? kept('sleepAfterMinutes', template?.sleepAfterMinutes)
      : spec.sleepAfterMinutes;
  return {
    name: keptName ?? remoteName('ServiceTemplate', name, spec),
    image: spec.image,
    description: describedWithMark(text, templateMark(owner, markedUid(record))),
    ...given({
      command: spec.command ?? kept('command', template?.command),
      resources: spec.resources ?? kept('resources', resources),
      httpPort: spec.httpPort ?? kept('httpPort', template?.httpPort),
      containerDiskGb: spec.containerDiskGb ?? kept('containerDiskGb', template?.containerDiskGb),
      workspaceGb: spec.workspaceGb ?? kept('workspaceGb', template?.workspaceGb),
      requiredEnvironment:
        spec.requiredEnvironment ?? kept('requiredEnvironment', template?.requiredEnvironment),
    }),
    // Of these fields, it alone may be null (§8). Left out, it would take its default.
    ...(sleep === undefined ? {} : { sleepAfterMinutes: sleep || null }),
  };
}

type Given<Values> = { [Name in keyof Values]?: NonNullable<Values[Name]> };

/** What has a value. */
function given<Values extends object>(values: Values): Given<Values> {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(entries) as Given<Values>;
}

function templateFields(inputs: FieldInputs, template: wire.Template | undefined): Field[] {
  const { object, owner, record } = inputs;
  const { spec } = object;
  const isAdopted = spec.adopt !== undefined;
  const seen = template?.resources;
  const resources = seen ? { gpuCount: seen.gpuCount, cpu: seen.cpu, memoryGb: seen.memoryGb } : seen;
  const description = template?.description;
  const named =
    isAdopted && spec.templateName === undefined
      ? undefined
      : remoteName('ServiceTemplate', object.name, spec);
  return [
    { name: 'templateName', path: 'templateName', desired: named, observed: template?.name },
    {
      name: 'description',
      path: 'description',
      desired: spec.description?.trimEnd(),
      observed: description === undefined ? undefined : withoutTemplateMark(description ?? ''),
    },
    // The id of an adopted one is written in the spec: it may go without the mark.
    {
      name: 'mark',
      path: 'description',
      desired: isAdopted ? undefined : withMark,
      observed: description === undefined ? undefined : markOf(description, owner, markedUid(record)),
    },
    { name: 'image', path: 'image', desired: spec.image, observed: template?.image, isAsGood: sameImage },
    { name: 'command', path: 'command', desired: spec.command, observed: template?.command },
    { name: 'resources', path: 'resources', desired: spec.resources, observed: resources },
    { name: 'httpPort', path: 'httpPort', desired: spec.httpPort, observed: template?.httpPort },
    {
      name: 'containerDiskGb',
      path: 'containerDiskGb',
      desired: spec.containerDiskGb,
      observed: template?.containerDiskGb,
    },
    { name: 'workspaceGb', path: 'workspaceGb', desired: spec.workspaceGb, observed: template?.workspaceGb },
    {
      name: 'sleepAfterMinutes',
      path: 'sleepAfterMinutes',
      desired: spec.sleepAfterMinutes === undefined ? undefined : spec.sleepAfterMinutes || 'never',
      observed: template?.sleepAfterMinutes === null ? 'never' : template?.sleepAfterMinutes,
    },
    {
      name: 'requiredEnvironment',
      path: 'requiredEnvironment',
      desired: spec.requiredEnvironment,
      observed: template?.requiredEnvironment,
      isAsGood: sameNames,
    },
  ];
}

const withMark = '(with our mark)';
const withoutMark = '(without it)';

function markOf(description: string | null, owner: TemplateInputs['owner'], uid: string): string {
  const mark = readTemplateMark(description);
  return mark?.ownerId === owner.id && mark.uid === uid.replaceAll('-', '') ? withMark : withoutMark;
}

const sameImage = (desired: unknown, observed: unknown) => isSameImage(String(desired), String(observed));

/** Names have no order. */
function sameNames(desired: unknown, observed: unknown): boolean {
  if (!Array.isArray(desired) || !Array.isArray(observed) || desired.length !== observed.length) return false;
  return desired.every((name) => observed.includes(name));
}

export function templateDigests(inputs: TemplateInputs): Record<string, string> {
  return fieldDigests(templateFields(inputs, undefined), inputs.owner.digestKey);
}

export function shownTemplate(inputs: TemplateInputs, template: wire.Template): Record<string, string> {
  return shownDigests(templateFields(inputs, template), inputs.owner.digestKey);
}
