/** The people who write, edit and remove documents, and what they want at each moment. */
import { sameValue } from '../../src/base/index.ts';
import { objectKey, type ObjectKey } from '../../src/resources/index.ts';
import { SeededRandom } from '../support/seeded-random.ts';
import { editContest } from './contested.ts';
import { edited, images, manifestOf, newDocument, secrets, type Document } from './documents.ts';
import {
  editFleet,
  editTemplateRef,
  fleetOf,
  newFleet,
  placeInFleet,
  replicaSpec,
  templateOf,
  volumeSpec,
  withTemplate,
} from './fleets.ts';
import type { Action, BudgetEdit, Slot } from './script.ts';
import { ofSomeTeam } from './shedding-script.ts';
import type { DocumentStore } from './place.ts';
import type { Json, Wanted } from './watch.ts';

export const accountName = 'default';
const firstBudget = 'team';

export interface UsersOptions {
  readonly documentStore: DocumentStore;
  readonly slots: readonly Slot[];
  readonly accountSpec: object;
  readonly nowMs: () => number;
  /** Nothing may be declared under this name now. */
  readonly isInTheWay?: (key: ObjectKey) => boolean;
  /** The state of its object was lost, and no process has found it again since. */
  readonly isUnfound?: (key: ObjectKey) => boolean;
  /** Fleets may have schedules: everybody agrees about the time. */
  readonly mayHaveSchedules: boolean;
  /** Fleets may refer to templates. */
  readonly mayHaveTemplates: boolean;
  /** Fleets may have steps, and candidates in these regions. Undefined: neither. */
  readonly contested: readonly string[] | undefined;
  /** Objects have labels of teams, and what they ask of budgets. */
  readonly hasTeams: boolean;
}

const copied: ReadonlySet<string> = new Set(['ContainerService', 'StorageVolume', 'ServiceTemplate']);

/** What was on its way when a document was written again may still be done, and be on the disk after a stall or two. */
const shortWhileMs = 240_000;

export class Users {
  readonly #options: UsersOptions;
  readonly #documents = new Map<ObjectKey, Document>();
  readonly #removedAtMs = new Map<ObjectKey, number>();
  readonly #histories = new Map<ObjectKey, Wanted[]>();
  readonly wanted = new Map<ObjectKey, Wanted>();
  /** What there has been of a budget, the latest last. */
  readonly budgetEdits: {
    readonly atMs: number;
    readonly name: string;
    readonly edit: BudgetEdit | undefined;
  }[] = [];
  /** Objects that have been declared, the same name counted again after it was removed. */
  lives = 0;

  constructor(options: UsersOptions) {
    this.#options = options;
    for (const secret of secrets) options.documentStore.write(`secret-${secret.metadata.name}`, secret);
    this.writeAccount({});
  }

  writeAccount(annotations: Readonly<Record<string, string>>): void {
    const { documentStore, accountSpec } = this.#options;
    documentStore.write('secret-key', {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'compute' },
      stringData: { apiKey: (accountSpec as { apiKey: string }).apiKey },
    });
    this.editAccount({}, annotations);
  }

  writeBudget(edit: BudgetEdit): void {
    const { documentStore, nowMs } = this.#options;
    const { name = firstBudget, isRemoved } = edit;
    this.budgetEdits.push({ atMs: nowMs(), name, edit: isRemoved ? undefined : edit });
    const file = name === firstBudget ? 'budget' : `budget-${name}`;
    if (isRemoved) documentStore.remove(file);
    else documentStore.write(file, budgetManifest(name, edit));
    documentStore.publish();
  }

  /** As it is meant, but for `change`. */
  editAccount(change: object, annotations: Readonly<Record<string, string>> = {}): void {
    const { documentStore, accountSpec } = this.#options;
    const { apiKey: _apiKey, ...meant } = accountSpec as { apiKey: string };
    const spec = { ...meant, ...change };
    documentStore.write('account', {
      apiVersion: 'fleetkeeper.dev/v1alpha1',
      kind: 'Account',
      metadata: { name: accountName, annotations },
      spec,
    });
    documentStore.publish();
  }

  /** Of a replica or its volume: what the documents of its fleet have asked for, and those that have had its name. */
  history(key: ObjectKey): readonly Wanted[] {
    const own = this.#histories.get(key) ?? [];
    const fleet = fleetOf(key);
    if (fleet === undefined) return own;
    const ofFleet = this.#histories.get(fleet) ?? [];
    const asReplica = ofFleet
      .flatMap((wanted) => this.#filledIn(wanted))
      .map(({ name, spec, atMs }) => ({
        key,
        name,
        spec: placeInFleet(key) ? replicaSpec(key, spec) : volumeSpec(spec),
        labels: spec.template.metadata?.labels ?? {},
        annotations: spec.template.metadata?.annotations ?? {},
        atMs,
      }));
    return [...own, ...asReplica].sort((left, right) => left.atMs - right.atMs);
  }

  /** What a fleet has asked for, with all that its template has given so far. */
  #filledIn(wanted: Wanted): readonly Wanted[] {
    const template = templateOf(wanted.spec);
    const given = (template && this.#histories.get(template)) ?? [];
    if (given.length === 0) return [wanted];
    return given.map(({ spec, atMs }) => ({
      key: wanted.key,
      name: wanted.name,
      spec: withTemplate(wanted.spec, spec),
      atMs: Math.max(atMs, wanted.atMs),
    }));
  }

  wasRemoved(key: ObjectKey): boolean {
    const fleet = fleetOf(key);
    const wasRemoved = (each: ObjectKey) =>
      (this.#removedAtMs.get(each) ?? -shortWhileMs) > this.#options.nowMs() - shortWhileMs;
    return wasRemoved(key) || (fleet !== undefined && wasRemoved(fleet));
  }

  write({ slot, seed }: Action): void {
    const random = new SeededRandom(seed);
    const { kind, name } = this.#slot(slot);
    const key = objectKey(kind, 'default', name);
    const present = this.#documents.get(key);
    if (present) {
      const other = edited(present, random, this.#editFleet);
      this.#put(
        key,
        this.#options.hasTeams ? ofSomeTeam(other, random, this.#options.nowMs(), false) : other,
      );
      return;
    }
    if (this.#options.isInTheWay?.(key)) return;
    if (kind === 'ProtectedTask' && !this.#isDeclared(serviceOf(name))) return;
    if (kind === 'ServiceFleet') {
      this.lives += 1;
      const fleet = newFleet(name, random, this.#options.mayHaveSchedules);
      if (this.#options.mayHaveTemplates) editTemplateRef(fleet.spec, random);
      const { contested } = this.#options;
      if (contested) editContest(fleet.spec, random, contested);
      const { hasTeams, nowMs } = this.#options;
      this.#put(key, hasTeams ? ofSomeTeam(fleet, random, nowMs(), true) : fleet);
      return;
    }
    const documents = [...this.#documents.values()];
    const used = new Set(documents.map(({ spec }) => spec.storage?.volumeRef?.name));
    const volumes = documents
      .filter((each) => each.kind === 'StorageVolume' && !used.has(each.name))
      .filter((each) => !this.#options.documentStore.isLeaving(objectKey(each.kind, 'default', each.name)))
      .map((each) => each.name);
    const document = newDocument(kind, name, random, volumes);
    // What is written anew under its old name finds what there was, until that is gone.
    const before = this.#histories.get(key)?.at(-1);
    if (before && kind === 'ContainerService') {
      const { storage, deletionPolicy } = before.spec;
      Object.assign(document.spec, { storage, deletionPolicy });
    }
    if (before && kind === 'StorageVolume') document.spec.sizeGb = before.spec.sizeGb;
    const volume: string | undefined = document.spec.storage?.volumeRef?.name;
    if (volume !== undefined && !volumes.includes(volume)) return;
    this.lives += 1;
    const { hasTeams, nowMs } = this.#options;
    this.#put(key, hasTeams ? ofSomeTeam(document, random, nowMs(), true) : document);
  }

  /**
   * A volume that a service refers to stays, and so does what no process has found again since the state was lost: without its document
   * nothing leads to what it made (docs/internals/simulation.md).
   */
  remove({ slot }: Action): void {
    const { kind, name } = this.#slot(slot);
    const key = objectKey(kind, 'default', name);
    if (this.#options.isUnfound?.(key)) return;
    const isUsed = [...this.#documents.values()].some(({ spec }) => spec.storage?.volumeRef?.name === name);
    if (!this.#documents.has(key) || (kind === 'StorageVolume' && isUsed)) return;
    this.#drop(key);
  }

  /** All of it is there under another name, which was never used. */
  rename({ slot }: Action): void {
    const { kind, name } = this.#slot(slot);
    const key = objectKey(kind, 'default', name);
    const original = this.#documents.get(key);
    const other = this.#options.slots.find(
      (each) => each.kind === kind && !this.#histories.has(objectKey(kind, 'default', each.name)),
    );
    if (!original || !other || this.#options.isUnfound?.(key)) return;
    this.lives += 1;
    this.#forget(key);
    this.#put(objectKey(kind, 'default', other.name), { ...original, name: other.name });
  }

  /** Other documents in place of these, at once; what was removed meanwhile stays away. */
  edit(documents: readonly Document[]): void {
    const keyed = documents.map((document) => [keyOf(document), document] as const);
    const present = keyed.filter(([key]) => this.#documents.has(key));
    for (const [key, document] of present) this.#note(key, document);
    if (present.length > 0) this.#options.documentStore.publish();
  }

  /** Somebody makes a second one out of what is there, under a name that was never used. */
  copy({ slot, seed }: Action): { readonly from: ObjectKey; readonly to: ObjectKey } | undefined {
    const { kind, name } = this.#slot(slot);
    const from = objectKey(kind, 'default', name);
    const original = this.#documents.get(from);
    const unused = this.#options.slots.filter(
      (each) => each.kind === kind && !this.#histories.has(objectKey(kind, 'default', each.name)),
    );
    const other = unused[seed % Math.max(1, unused.length)];
    if (!original || !other || !copied.has(kind)) return undefined;
    const to = objectKey(kind, 'default', other.name);
    const { storage: _theirs, ...spec } = original.spec;
    this.lives += 1;
    this.#put(to, { ...original, name: other.name, spec });
    return { from, to };
  }

  /**
   * At the end people see to what only people can: tasks without a service go, and each document says what can be had. Which replicas there
   * are depends on what has happened: tasks of replicas go, and documents with names of replicas.
   */
  tidyUp(mend: (document: Document) => Document): void {
    for (const [key, document] of this.#documents) {
      const service = serviceOf(document.name);
      const isOfTask =
        document.kind === 'ProtectedTask' && (!this.#documents.has(service) || placeInFleet(service));
      if (isOfTask || placeInFleet(key)) this.#drop(key);
      else this.#put(key, mend(document));
    }
  }

  /** All at once, as in a folder that was there before anybody looked. */
  declare(documents: Iterable<[ObjectKey, Document]>): void {
    for (const [key, document] of documents) this.#put(key, document);
  }

  /** Somebody who looks at a number only, and knows nothing of the rest. */
  scale(slot: number, replicas: number): void {
    const { kind, name } = this.#slot(slot);
    const key = objectKey(kind, 'default', name);
    const present = this.#documents.get(key);
    if (!present || present.spec.replicas === replicas) return;
    const document = { ...present, spec: { ...present.spec, replicas } };
    const { documentStore } = this.#options;
    if (documentStore.scale(key, manifestOf(document))) this.#taken(key, document);
    documentStore.publish();
  }

  /** About what can be taken back: each of these documents is another one now. Declared again, they take it back. */
  changeTheirMinds(random: SeededRandom): ReadonlyMap<ObjectKey, Document> {
    const before = new Map<ObjectKey, Document>();
    for (const [key, document] of this.#documents) {
      if (document.kind === 'StorageVolume' || document.kind === 'ProtectedTask') continue;
      const other = edited(document, random, editFleet);
      if (sameValue(other.spec, document.spec)) continue;
      before.set(key, document);
      this.#put(key, other);
    }
    return before;
  }

  documents(): Iterable<[ObjectKey, Document]> {
    return this.#documents;
  }

  readonly #editFleet = (spec: Json, random: SeededRandom): void => {
    editFleet(spec, random);
    if (this.#options.mayHaveTemplates) editTemplateRef(spec, random);
    const { contested } = this.#options;
    if (!contested) return;
    if (random.chance(0.3)) editContest(spec, random, contested);
    if (random.chance(0.5)) spec.template.spec.image = random.pick(images);
  };

  #put(key: ObjectKey, document: Document): void {
    this.#note(key, document);
    this.#options.documentStore.publish();
  }

  /** What is refused stays as it was. */
  #note(key: ObjectKey, document: Document): void {
    if (this.#options.documentStore.write(key, manifestOf(document))) this.#taken(key, document);
  }

  #taken(key: ObjectKey, document: Document): void {
    this.#documents.set(key, document);
    const { name, spec, labels = {}, annotations } = document;
    const wanted = { key, name, spec, labels, annotations, atMs: this.#options.nowMs() };
    this.wanted.set(key, wanted);
    this.#histories.set(key, [...(this.#histories.get(key) ?? []), wanted]);
  }

  #drop(key: ObjectKey): void {
    this.#forget(key);
    this.#options.documentStore.publish();
  }

  #forget(key: ObjectKey): void {
    this.#documents.delete(key);
    this.wanted.delete(key);
    this.#removedAtMs.set(key, this.#options.nowMs());
    this.#options.documentStore.remove(key);
  }

  /** By a document of its own, or by that of its fleet. */
  #isDeclared(key: ObjectKey): boolean {
    const place = placeInFleet(key);
    return this.#documents.has(key) || (place !== undefined && this.#documents.has(place.fleet));
  }

  #slot(index: number): Slot {
    const slot = this.#options.slots[index];
    if (!slot) throw new Error(`there is no slot ${index}`);
    return slot;
  }
}

function budgetManifest(name: string, { scope, team, hourlyMicros, mode, shed }: BudgetEdit): Json {
  const scopes = {
    account: { accountRef: { name: accountName } },
    namespace: { namespace: true },
    labels: { selector: { matchLabels: { team } } },
  };
  return {
    apiVersion: 'fleetkeeper.dev/v1alpha1',
    kind: 'Budget',
    metadata: { name },
    spec: { ...scopes[scope], limits: { hourlyMicros }, mode, shed },
  };
}

/** Of a task. */
function serviceOf(task: string): ObjectKey {
  return objectKey('ContainerService', 'default', task.split('.')[0] ?? '');
}

function keyOf({ kind, name }: Document): ObjectKey {
  return objectKey(kind, 'default', name);
}
