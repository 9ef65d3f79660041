/** ServiceTemplate: a template of the account (§2 "Template"). */
import { createTemplate } from '../../actions/index.ts';
import type { wire } from '../../api/index.ts';
import { defineKind, isBuiltIn, itemsOf, type RemoteThings, type View } from '../../engine/index.ts';
import { remoteName, type ServiceTemplateSpec } from '../../resources/index.ts';
import { readFromList } from '../listed.ts';
import { heldTemplates } from './held.ts';
import type { TemplateInputs } from './inputs.ts';
import { templateMarks } from './marks.ts';
import { planTemplate, shownTemplate, templateDigests } from './plan.ts';
import { observedTemplate, templateHealth } from './status.ts';
import { usersOfTemplate, type TemplateUser } from './view.ts';

type Template = wire.Template;

interface TemplateLook extends TemplateInputs {
  /** The services that refer to it. */
  readonly users: readonly TemplateUser[];
}

const remote: RemoteThings<ServiceTemplateSpec, Template, TemplateLook> = {
  listing: ({ templates }) => templates,
  read: (api, id) => readFromList(api.templates(), id),
  marks: templateMarks,
  creation: createTemplate,
  held: heldTemplates,
  /** Built-in templates are everybody's. */
  candidates: (items, account) =>
    new Map([...items].filter(([, item]) => !isBuiltIn(item, account?.catalog.current))),
  couldBe({ description, name }, { fleet, record, object }) {
    if (description !== undefined) {
      const own = templateMarks.own({ owner: fleet.owner, record });
      return templateMarks.of({ id: '', description }).includes(own);
    }
    const own = remoteName('ServiceTemplate', object.name, object.spec);
    return name === undefined || name.toLowerCase() === own.toLowerCase();
  },
  hidesMarks: ({ description, builtIn }) => description === undefined && builtIn !== true,
};

function templateLook(view: View<ServiceTemplateSpec, Template, undefined>): TemplateLook {
  const { fleet, record, object, seen } = view;
  const { observation, account, snapshot } = seen;
  const items = itemsOf(snapshot?.templates);
  const shown = observation.kind === 'present' ? observation.value : undefined;
  const required = object.spec.requiredEnvironment ?? shown?.requiredEnvironment ?? [];
  return {
    object,
    record,
    owner: fleet.owner,
    observation,
    templatesInAccount: [...items.values()].filter((item) => !isBuiltIn(item, account?.catalog.current))
      .length,
    gates: view.gates(),
    driftBrake: view.driftBrake(),
    users: usersOfTemplate(fleet, record, required),
  };
}

export const serviceTemplate = defineKind<ServiceTemplateSpec, Template, TemplateLook>({
  name: 'ServiceTemplate',
  remote,
  look: templateLook,
  plan: planTemplate,
  target: (look) => ({
    digests: templateDigests(look),
    shownIn: (template) => shownTemplate(look, template),
  }),
  settled: (look) => ({
    applied: { ...look.record.applied, ...templateDigests(look) },
    repeated: undefined,
    unconfirmed: [],
    refusal: undefined,
  }),
  status: ({ observation, users }) => ({
    health: templateHealth(observation),
    observed: observedTemplate(observation, users),
    revision: observation.kind === 'present' ? observation.value.revision : undefined,
  }),
});
