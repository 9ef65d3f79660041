import type { wire } from '../api/index.ts';
import type { Target } from '../execute/index.ts';
import type { AccountSnapshot } from '../observed/index.ts';
import {
  compactUid,
  planTemplate,
  readTemplateMark,
  shownTemplate,
  templateDigests,
  type Plan,
  type TemplateInputs,
} from '../plan/index.ts';
import { remoteName } from '../resources/index.ts';
import type { ObjectRecord } from '../state/index.ts';
import { observedTemplate, templateHealth } from '../status/index.ts';
import type { AccountHandle } from './accounts.ts';
import type { Fleet } from './fleet.ts';
import type { KindPass } from './kind-pass.ts';
import { ListedPass } from './listed-pass.ts';
import { duplicatesOf, identify, templateMarks, type Observed } from './observe.ts';
import { isBuiltIn, usersOfTemplate } from './references.ts';

export class TemplatePass extends ListedPass<wire.Template> implements KindPass {
  readonly kind = 'ServiceTemplate';

  protected listing({ templates }: AccountSnapshot) {
    return templates;
  }

  protected list(account: AccountHandle) {
    return account.api.templates();
  }

  protected find(
    items: ReadonlyMap<string, wire.Template>,
    madeId: string | undefined,
  ): Observed<wire.Template> {
    return identify(this.fleet.identity(this.record(), madeId), this.#workspace(items), templateMarks);
  }

  protected markedByKey({ description }: wire.Template): boolean {
    const mark = readTemplateMark(description);
    const { owner } = this.fleet;
    return mark?.keyId === owner.digestKey.id && mark.uid === compactUid(this.record().uid);
  }

  protected couldBeMine({ description, name }: wire.Template | wire.Unidentified<wire.Template>): boolean {
    const identity = this.fleet.identity(this.record());
    if (description !== undefined)
      return templateMarks.of({ id: '', description }).includes(templateMarks.own(identity));
    const { name: objectName, spec } = this.fleet.planned<'ServiceTemplate'>(this.record());
    const ours = remoteName('ServiceTemplate', objectName, spec);
    return name === undefined || name.toLowerCase() === ours.toLowerCase();
  }

  protected override marked(identity: ReturnType<Fleet['identity']>, snapshot: AccountSnapshot) {
    return duplicatesOf(identity, this.#workspace(this.shown(snapshot)), templateMarks);
  }

  plan(): Plan {
    return planTemplate(this.#inputs());
  }

  protected override hidesMarks({ description, builtIn }: wire.Template): boolean {
    return description === undefined && builtIn !== true;
  }

  target(): Target {
    const inputs = this.#inputs();
    return this.targetOf(templateDigests(inputs), undefined, (template) => shownTemplate(inputs, template));
  }

  settledRecord(): Partial<ObjectRecord> {
    return {
      applied: { ...this.record().applied, ...templateDigests(this.#inputs()) },
      repeated: undefined,
      unconfirmed: [],
      refusal: undefined,
    };
  }

  told() {
    const observation = this.lastSeen();
    const template = observation.kind === 'present' ? observation.value : undefined;
    const { requiredEnvironment } = this.fleet.planned<'ServiceTemplate'>(this.record()).spec;
    const required = requiredEnvironment ?? template?.requiredEnvironment ?? [];
    return {
      health: templateHealth(observation),
      observed: observedTemplate(observation, usersOfTemplate(this.fleet, this.record(), required)),
      revision: template?.revision,
      reconcileAt: this.reconcileAt(),
    };
  }

  #inputs(): TemplateInputs {
    const record = this.record();
    return {
      object: this.fleet.planned<'ServiceTemplate'>(record),
      record,
      owner: this.fleet.owner,
      observation: this.seen,
      templatesInAccount: this.snapshot ? this.#workspace(this.shown(this.snapshot)).size : 0,
      gates: this.gates(),
      driftBrake: this.driftBrake(),
    };
  }

  /** Those of the account. */
  #workspace(items: ReadonlyMap<string, wire.Template>): ReadonlyMap<string, wire.Template> {
    const catalog = this.handle?.catalog.current;
    return new Map([...items].filter(([, item]) => !isBuiltIn(item, catalog)));
  }
}
