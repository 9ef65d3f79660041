/**
 * Reusable configurations (§2 "Template"). Built-in ones come from the configuration, are the same for everybody
 * and can't be changed. Those of an account are its own; a change replaces the whole specification, and what it
 * omits takes the default again. Services remember nothing of a template: changing or deleting one leaves them
 * alone (§4 rule 4).
 */
import { limits, type TemplateSpec } from '../../api/wire.ts';
import type { ControlPlaneConfig } from './config.ts';
import { ApiError, conflict, invalidRequest, notFound, revisionConflict } from './errors.ts';
import { requireResources } from './gates.ts';
import type { Platform } from './platform.ts';
import type { AccountRecord, TemplateFields, TemplateRecord } from '../store/records.ts';

const defaultResources = { gpuCount: 0, cpu: 1, memoryGb: 2 };
const defaultContainerDiskGb = 10;

export class Templates {
  readonly #platform: Platform;
  readonly builtIn: readonly TemplateRecord[];

  constructor(platform: Platform) {
    this.#platform = platform;
    this.builtIn = builtInTemplates(platform.config);
  }

  create(account: AccountRecord, spec: TemplateSpec): TemplateRecord {
    const { store, random, clock } = this.#platform;
    const fields = this.#fieldsOf(spec);
    if (store.templates.count(account.id) >= limits.templatesPerAccount) {
      throw conflict(
        'limit_reached',
        `an account has at most ${limits.templatesPerAccount} templates; delete one first`,
      );
    }
    return store.templates.put({
      id: random.uuid(),
      accountId: account.id,
      revision: 1,
      createdAtMs: clock.wallMs(),
      ...fields,
    });
  }

  replace(account: AccountRecord, id: string, revision: number, spec: TemplateSpec): TemplateRecord {
    const fields = this.#fieldsOf(spec);
    const template = this.#changeable(account, id, revision);
    return this.#platform.store.templates.put({ ...template, ...fields, revision: revision + 1 });
  }

  delete(account: AccountRecord, id: string, revision: number): { id: string; deleted: true } {
    const template = this.#changeable(account, id, revision);
    this.#platform.store.templates.remove(template);
    return { id: template.id, deleted: true };
  }

  #changeable(account: AccountRecord, id: string, revision: number): TemplateRecord {
    if (this.builtIn.some((template) => template.id === id.toLowerCase())) {
      throw new ApiError(
        403,
        'template_built_in',
        'a built-in template is the same for everybody; make your own',
      );
    }
    const template = this.#platform.store.templates.get(id.toLowerCase());
    if (template?.accountId !== account.id) throw notFound('template', id);
    if (revision !== template.revision) throw revisionConflict('template', revision, template.revision);
    return template;
  }

  #fieldsOf(spec: TemplateSpec): TemplateFields {
    const fields = templateFields(spec);
    requireResources(this.#platform.config, fields.resources);
    if (new Set(fields.requiredEnvironment).size < fields.requiredEnvironment.length) {
      throw invalidRequest('requiredEnvironment: each name may occur once');
    }
    return fields;
  }
}

/** What the specification omits takes its default. */
export function templateFields(spec: TemplateSpec): TemplateFields {
  return {
    name: spec.name,
    description: spec.description ?? '',
    image: spec.image,
    command: spec.command ?? null,
    resources: spec.resources ?? defaultResources,
    httpPort: spec.httpPort ?? null,
    containerDiskGb: spec.containerDiskGb ?? defaultContainerDiskGb,
    workspaceGb: spec.workspaceGb ?? null,
    sleepAfterMinutes: spec.sleepAfterMinutes ?? null,
    requiredEnvironment: spec.requiredEnvironment ?? [],
  };
}

export function builtInTemplates(config: ControlPlaneConfig): TemplateRecord[] {
  return config.templates.map((template) => ({ ...template, accountId: '', revision: 1, createdAtMs: null }));
}
