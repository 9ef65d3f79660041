/** What a ServiceTemplate gives to the services that refer to it. */
import type { wire } from '../../api/index.ts';
import { nearestOr } from '../../base/index.ts';
import { byNamespace, referringOf } from '../../desired/index.ts';
import type { AccountSnapshot } from '../../observed/index.ts';
import { isBuiltIn, itemsOf, type AccountHandle, type Fleet } from '../../engine/index.ts';
import {
  annotations,
  objectKey,
  parseObjectKey,
  type ContainerServiceSpec,
  type ObjectKey,
} from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';
import type { TemplateView } from '../container-service/inputs.ts';
import { templateFields, templateValues } from '../container-service/template.ts';
import { takenOut } from './plan.ts';

/** What refers to a template. */
export interface RefersToTemplate {
  readonly key: ObjectKey;
  readonly spec: Pick<ContainerServiceSpec, 'templateRef' | 'accountRef' | 'resources'>;
  /** Where the spec stands in the document. */
  readonly specPath: readonly string[];
}

/** The ServiceTemplate of that name in the namespace or, when there is none, the built-in template. */
export function templateView(
  fleet: Fleet,
  user: RefersToTemplate,
  handle: AccountHandle | undefined,
  snapshot: AccountSnapshot | undefined,
  mode: 'manage' | 'preview' = 'manage',
): TemplateView {
  const name = user.spec.templateRef?.name;
  if (name === undefined) return { kind: 'none' };
  const key = objectKey('ServiceTemplate', parseObjectKey(user.key).namespace, name);
  const template = fleet.store.record(key);
  const path = [...user.specPath, 'templateRef', 'name'];
  if (fleet.snapshot.unusable.has(key) && !(template && fleet.specOf(template))) {
    const message = `the document of ServiceTemplate ${name} can't be used; put that right first`;
    return { kind: 'problem', reason: 'ReferenceNotFound', message, path };
  }
  if (template && template.deletionRequestedAt === undefined && fleet.specOf(template)) {
    const view = ownTemplateView(fleet, user, template, snapshot, path);
    return mode === 'preview' ? withTakenOut(fleet, view, template, snapshot) : view;
  }
  return builtInView(fleet, { key: user.key, name }, handle, snapshot, path);
}

function ownTemplateView(
  fleet: Fleet,
  { spec: service }: RefersToTemplate,
  template: ObjectRecord,
  snapshot: AccountSnapshot | undefined,
  path: readonly (string | number)[],
): TemplateView {
  const { name, spec } = fleet.planned(template, 'ServiceTemplate');
  if (spec.accountRef.name !== service.accountRef.name) {
    const message = `ServiceTemplate ${name} belongs to another account (${spec.accountRef.name}), and templates are not shared (§2); use one of ${service.accountRef.name}`;
    return { kind: 'problem', reason: 'ReferenceNotFound', message, path };
  }
  const shown = itemsOf(snapshot?.templates).get(template.externalId ?? '');
  const { image, command, resources, httpPort, sleepAfterMinutes } = spec;
  const { requiredEnvironment, ...theirs } = shown
    ? templateValues(shown, shown.requiredEnvironment ?? [])
    : { requiredEnvironment: [] };
  const values = {
    ...theirs,
    image,
    ...(command ? { command } : {}),
    ...(resources ? { resources } : {}),
    ...(httpPort === undefined ? {} : { httpPort }),
    ...(sleepAfterMinutes === undefined ? {} : { sleepAfterMinutes }),
    requiredEnvironment: spec.requiredEnvironment ?? requiredEnvironment,
  };
  if (values.resources || service.resources || shown) return { kind: 'usable', values };
  const message = `ServiceTemplate ${name} is not there yet, and the API's default for its resources not known`;
  return { kind: 'not-ready', message, values };
}

/** What follows in the plan of a preview: the template gives these fields no more, and nobody knows the API's default for them. */
function withTakenOut(
  fleet: Fleet,
  view: TemplateView,
  record: ObjectRecord,
  snapshot: AccountSnapshot | undefined,
): TemplateView {
  const shown = itemsOf(snapshot?.templates).get(record.externalId ?? '');
  if (view.kind !== 'usable' || !shown) return view;
  const object = fleet.planned(record, 'ServiceTemplate');
  if (object.annotations[annotations.paused] === 'true') return view;
  const names = new Set(takenOut({ object, record, owner: fleet.owner }, shown).map((field) => field.name));
  const takenOutFields = templateFields.filter((field) => names.has(field));
  return takenOutFields.length > 0 ? { ...view, takenOut: takenOutFields } : view;
}

function builtInView(
  fleet: Fleet,
  { key, name }: { readonly key: ObjectKey; readonly name: string },
  handle: AccountHandle | undefined,
  snapshot: AccountSnapshot | undefined,
  path: readonly (string | number)[],
): TemplateView {
  const listing = snapshot?.templates;
  if (listing?.kind !== 'read') {
    const message = listing?.kind === 'failed' ? listing.message : 'the templates have not been read yet';
    return { kind: 'not-ready', message };
  }
  const catalog = handle?.catalog.current;
  const builtIn = [...listing.items.values()].filter((item) => isBuiltIn(item, catalog));
  const found = builtIn.find((item) => item.id === name || referenceName(item) === name);
  if (found) return { kind: 'usable', values: templateValues(found, found.requiredEnvironment ?? []) };
  const offered = [
    ...ownTemplateNames(fleet, key).map((own) => `${own} (ServiceTemplate)`),
    ...builtIn.map((item) => `${referenceName(item)} (built-in)`),
  ];
  const known = [...ownTemplateNames(fleet, key), ...builtIn.map(referenceName)];
  const there = offered.length > 0 ? `there are ${offered.join(', ')}` : 'there are none at all';
  const message = `there is no ServiceTemplate ${name} in this namespace, and no built-in template of that name; ${nearestOr(name, known, there)}`;
  return { kind: 'problem', reason: 'ReferenceNotFound', message, path };
}

/** As a reference has to be written: `PyTorch 2.3` is `pytorch-2.3`. */
function referenceName({ id, name = id }: wire.Template): string {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9.]+/g, '-')
    .replaceAll(/^[-.]+|[-.]+$/g, '');
}

function ownTemplateNames(fleet: Fleet, key: ObjectKey): string[] {
  const { namespace } = parseObjectKey(key);
  return byNamespace(fleet.snapshot.objects, 'ServiceTemplate', namespace).map(({ name }) => name);
}

export interface TemplateUser {
  readonly name: string;
  /** Variables that the template requires and the service does not have. */
  readonly missing: readonly string[];
}

/** The services and fleets that refer to a template, and what they lack of the environment that it requires now. */
export function usersOfTemplate(
  fleet: Fleet,
  template: ObjectRecord,
  required: readonly string[],
): TemplateUser[] {
  const { objects } = fleet.snapshot;
  const services = referringOf(objects, 'ContainerService', template.key).map(({ key, name, spec }) => ({
    key,
    name,
    env: spec.env,
  }));
  const fleets = referringOf(objects, 'ServiceFleet', template.key).map(({ key, name, spec }) => ({
    key,
    name,
    env: spec.template.spec.env,
  }));
  return [...services, ...fleets].map(({ key, name, env }) => {
    const given = env?.map((variable) => variable.name) ?? [];
    // A service that exists has an environment of its own where its document has none.
    const isUnmanaged = env === undefined && fleet.store.record(key)?.externalId !== undefined;
    return { name, missing: isUnmanaged ? [] : required.filter((one) => !given.includes(one)) };
  });
}
