/**
 * Trouble that comes from outside: people who change documents in ways that need another service, colleagues who copy and change what is
 * ours with all that it shows, and a provider that shows more than before. All of it is drawn from a stream of its own.
 *
 * | deed            | what happens                                                                                          |
 * |-----------------|-------------------------------------------------------------------------------------------------------|
 * | swap-volumes    | two services with `replacement: Recreate` are to have each other's volumes; somebody may work in one of them |
 * | pin-place       | a service is to be in the place in which it is shown                                                  |
 * | take-out-field  | a field that was applied is not in the document any more                                              |
 * | copy-service    | somebody makes another service with the environment of ours, mark included                            |
 * | change-values   | somebody sends other values under all names of an environment, mark included                          |
 * | add-variable    | a colleague's script adds a variable to all services                                                  |
 * | show-variable   | the provider shows one more variable of all services, until the faults end                            |
 */
import { objectKey, type ObjectKey } from '../../src/resources/index.ts';
import { SeededRandom } from '../support/seeded-random.ts';
import type { Document } from './documents.ts';
import type { Network } from './network.ts';
import { ourKey, type Plane } from './plane.ts';
import type { Action } from './script.ts';
import type { ObjectRecord } from '../../src/state/index.ts';
import type { DurableState } from './state.ts';
import type { Users } from './users.ts';
import type { Json, Watcher } from './watch.ts';

export const neighbourDeeds = [
  'swap-volumes',
  'pin-place',
  'take-out-field',
  'copy-service',
  'change-values',
  'add-variable',
  'show-variable',
] as const;
export type NeighbourDeed = (typeof neighbourDeeds)[number];

/** What the colleague's script adds, and the provider shows. */
export const addedVariable = 'ADDED_BY_A_SCRIPT';
const shownVariable = 'PROVIDER_TRACE';

/** Until a volume can be used by who is to have it. */
const attachedWithinMs = 60_000;

/** So long somebody has been at work in a service before its volume is wanted elsewhere: whoever looks has seen it. */
export const longAtWorkMs = 200_000;

export interface NeighbourOptions {
  readonly network: Network;
  readonly plane: Plane;
  readonly state: DurableState;
  readonly users: Users;
  readonly watcher: () => Required<Pick<Watcher, 'meddled'>>;
  readonly nowMs: () => number;
  readonly after: (delayMs: number, run: () => void) => void;
}

/** What the invariants are told of it. */
export interface NeighbourNews {
  /** By the id of a copy: whose mark it carries. */
  readonly copies: ReadonlyMap<string, ObjectKey>;
  /** Services that the script has changed, by id: the generation of their documents then. */
  readonly added: ReadonlyMap<string, number>;
  /** Services whose values somebody has changed, so that it can be noticed, by id: the generation of their documents then. */
  readonly changed: ReadonlyMap<string, number>;
  /** Fields that were taken out of documents that were in place, and the service that had them. */
  readonly takenOut: ReadonlyMap<ObjectKey, { readonly field: string; readonly id: string }>;
}

export class Neighbours implements NeighbourNews {
  readonly #options: NeighbourOptions;
  readonly copies = new Map<string, ObjectKey>();
  readonly added = new Map<string, number>();
  readonly changed = new Map<string, number>();
  /** It is not shown yet; what becomes of the service until then may hide it. */
  readonly #changing = new Map<string, Json>();
  /** How often it was shown alike. */
  readonly #steady = new Map<
    string,
    { readonly state: string; readonly revision: number; readonly reads: number }
  >();
  readonly takenOut = new Map<ObjectKey, { readonly field: string; readonly id: string }>();
  #showsMore = false;
  #isOver = false;

  constructor(options: NeighbourOptions) {
    this.#options = options;
  }

  act(deed: NeighbourDeed, { seed }: Action): unknown {
    const random = new SeededRandom(seed);
    if (!this.#options.plane.isUp) return undefined;
    switch (deed) {
      case 'swap-volumes':
        return this.#swap(random);
      case 'pin-place':
        return this.#pin(random);
      case 'take-out-field':
        return this.#takeOut(random);
      case 'copy-service':
        return this.#copy(random);
      case 'change-values':
        return this.#changeValues(random);
      case 'add-variable':
        return this.#addVariable();
      case 'show-variable':
        this.#showsMore = true;
        return undefined;
    }
  }

  /** A copy is there, or may be: nobody declares anything under the name of its original. */
  isInTheWay(key: ObjectKey): boolean {
    return [...this.copies].some(([id, of]) => of === key && this.#exists(id));
  }

  /** Nothing new happens. */
  heal(): void {
    this.#isOver = true;
    this.#showsMore = false;
  }

  /** Who has made copies, or has kept a service that has a volume of the fleet, has been told of it, and deletes it. */
  async tidyUp(): Promise<void> {
    for (const id of [...this.copies.keys(), ...this.#keptWithVolume()]) await this.#delete(id);
  }

  /** Services that were let go with `deletionPolicy: Retain`, and have a volume that is still declared. */
  #keptWithVolume(): string[] {
    const { plane, state } = this.#options;
    const declared = new Set(state.records().map(({ externalId }) => externalId));
    const services = [...(plane.store?.services.all() ?? [])];
    return services
      .filter(({ id, volumeId }) => !declared.has(id) && volumeId !== null && declared.has(volumeId))
      .map(({ id }) => id);
  }

  /** An account read was answered. A change that it shows alone can be noticed: neither we nor its state have moved the revision since. */
  shown(body: Json): void {
    const { state } = this.#options;
    for (const { id, state: shown, revision } of body.services) {
      const before = this.#steady.get(id);
      const isAlike = before?.state === shown && before?.revision === revision;
      this.#steady.set(id, { state: shown, revision, reads: isAlike ? (before?.reads ?? 0) + 1 : 1 });
    }
    for (const service of this.#changing.size > 0 ? body.services : []) {
      const change = this.#changing.get(service.id);
      if (!change || service.revision < change.revision) continue;
      this.#changing.delete(service.id);
      const record = state.records().find(({ externalId }) => externalId === service.id);
      const outcome = record && state.intent(record.key)?.outcome;
      const isAlone = service.revision === change.revision && service.state === change.state;
      const isQuiet = outcome !== 'pending' && outcome !== 'unknown';
      if (isAlone && isQuiet && record?.generation === change.generation)
        this.changed.set(service.id, change.generation);
    }
  }

  /** Changes the answer to a read; whether there was something to change. */
  put(body: Json): boolean {
    const services: Json[] = body.services ?? (body.service ? [body.service] : []);
    if (!this.#showsMore || services.length === 0) return false;
    for (const service of services) service.environmentNames = [...service.environmentNames, shownVariable];
    return true;
  }

  // ---- documents ---------------------------------------------------------------------------------------

  #swap(random: SeededRandom): void {
    const attached = this.#services().filter(({ spec }) => spec.storage?.volumeRef);
    if (attached.length < 2) {
      this.#attach(random);
      return this.#later(attachedWithinMs, () => this.#swap(random));
    }
    const one = random.pick(attached);
    const other = random.pick(attached.filter((each) => each !== one));
    if (random.chance(0.6)) this.#work(random.pick([one, other]), random);
    this.#later(longAtWorkMs, () => {
      const [left, right] = [one, other].map(({ name }) => this.#document(name));
      if (!left?.spec.storage?.volumeRef || !right?.spec.storage?.volumeRef) return;
      const moved = (document: Document, from: Document): Document => ({
        ...document,
        spec: { ...document.spec, replacement: 'Recreate', storage: from.spec.storage },
      });
      this.#options.users.edit([moved(left, right), moved(right, left)]);
    });
  }

  /** One without storage is to have a volume that nobody uses. */
  #attach(random: SeededRandom): void {
    const documents = [...this.#options.users.documents()].map(([, document]) => document);
    const used = new Set(documents.map(({ spec }) => spec.storage?.volumeRef?.name));
    const free = documents.filter(({ kind, name }) => kind === 'StorageVolume' && !used.has(name));
    const without = this.#services().filter(({ spec }) => !spec.storage);
    for (const document of without.slice(0, 2)) {
      const volume = free.shift();
      if (!volume) break;
      const storage = { volumeRef: { name: volume.name } };
      const spec = { ...document.spec, replacement: random.pick(['Recreate', 'Recreate', 'Never']), storage };
      this.#options.users.edit([{ ...document, spec }]);
    }
  }

  #pin(random: SeededRandom): void {
    const { plane, users } = this.#options;
    const shown = this.#services().flatMap((document) => {
      const service = plane.store?.services.get(this.#idOf(document) ?? '');
      return service ? [{ document, geography: service.geography }] : [];
    });
    if (shown.length === 0) return;
    const { document, geography } = random.pick(shown);
    const replacement = random.chance(0.7) ? 'Recreate' : document.spec.replacement;
    users.edit([{ ...document, spec: { ...document.spec, geography, replacement } }]);
  }

  #takeOut(random: SeededRandom): void {
    const { state, users } = this.#options;
    const settled = this.#services().flatMap((document) => {
      const record = state.record(keyOf(document));
      const { externalId, manifest } = record ?? {};
      const field = ['command', 'httpPort'].find((name) => document.spec[name] !== undefined);
      const isTaken = field !== undefined && (manifest?.spec as Json)?.[field] !== undefined;
      return isInSync(record) && isTaken && externalId !== undefined
        ? [{ document, field, id: externalId }]
        : [];
    });
    if (settled.length === 0) return;
    const { document, field, id } = random.pick(settled);
    const { [field]: _gone, ...spec } = document.spec;
    this.takenOut.set(keyOf(document), { field, id });
    users.edit([{ ...document, spec }]);
  }

  // ---- things ------------------------------------------------------------------------------------------

  async #copy(random: SeededRandom): Promise<void> {
    const { plane } = this.#options;
    const originals = this.#recorded();
    if (originals.length === 0) return;
    const { id, key } = random.pick(originals);
    const service = plane.store?.services.get(id);
    if (!service || !plane.store) return;
    const { region, image, resources } = service;
    const body = {
      name: `copy of ${service.name}`.slice(0, 60),
      region,
      image,
      resources,
      environment: plane.store.environmentOf(id),
    };
    const staysMs = random.chance(0.5) ? random.between(30_000, 600_000) : undefined;
    const made = await this.#call('POST', '/api/services', body, random.uuid());
    if (made === undefined) return;
    this.copies.set(made.id, key);
    if (staysMs !== undefined) this.#later(staysMs, () => void this.#delete(made.id));
  }

  /** Names and mark are as they were; only values are others. */
  async #changeValues(random: SeededRandom): Promise<void> {
    const { store } = this.#options.plane;
    const given = this.#recorded().filter(({ id, key, document }) => {
      const { state, revision } = store?.services.get(id) ?? {};
      const steady = this.#steady.get(id);
      const isSteady = steady?.state === state && steady?.revision === revision && (steady?.reads ?? 0) > 2;
      // Of what nobody has seen as it should be, nobody knows that it has changed.
      return document.spec.env && isSteady && isInSync(this.#options.state.record(key));
    });
    if (given.length === 0 || !store) return;
    const { id, generation } = random.pick(given);
    const service = store.services.get(id);
    if (!service) return;
    const names = Object.keys(store.environmentOf(id));
    const environment = Object.fromEntries(names.map((name) => [name, 'theirs']));
    const answer = await this.#patch(id, service.revision, environment, random);
    if (answer) this.#changing.set(id, { ...answer, generation });
  }

  async #addVariable(): Promise<void> {
    const random = new SeededRandom(this.#options.nowMs());
    for (const { id, generation } of this.#recorded()) {
      const { store } = this.#options.plane;
      const service = store?.services.get(id);
      if (!service || !store) continue;
      const environment = { ...store.environmentOf(id), [addedVariable]: '1' };
      const isDone = await this.#patch(id, service.revision, environment, random);
      if (isDone) this.added.set(id, generation);
    }
  }

  #patch(id: string, revision: number, environment: object, random: SeededRandom): Promise<Json> {
    this.#options.watcher().meddled(id);
    return this.#call('PATCH', `/api/services/${id}`, { revision, patch: { environment } }, random.uuid());
  }

  /** Somebody works in it, for long. */
  #work(document: Document, random: SeededRandom): void {
    const id = this.#idOf(document);
    if (id === undefined) return;
    const [activity, key] = [random.uuid(), random.uuid()];
    const path = `/api/services/${id}/activity`;
    void this.#call('POST', path, { id: activity, name: 'theirs' }, key);
    const endsMs = longAtWorkMs + random.between(60_000, 400_000);
    const release = () =>
      void this.#call('POST', path, { id: activity, name: 'theirs', release: true }, `end-${activity}`).then(
        (answer) => answer === undefined && this.#exists(id) && this.#options.after(5000, release),
      );
    this.#options.after(endsMs, release);
  }

  async #delete(id: string): Promise<void> {
    if (!this.#exists(id)) return;
    const key = `gone-${id}-${this.#options.nowMs()}`;
    const answer = await this.#call('POST', `/api/services/${id}/actions`, { action: 'delete' }, key);
    if (answer === undefined) this.#options.after(5000, () => void this.#delete(id));
  }

  // ---- what there is -----------------------------------------------------------------------------------

  #exists(id: string): boolean {
    const { store } = this.#options.plane;
    const state = store?.services.get(id)?.state;
    return !store || (state !== undefined && state !== 'deleting');
  }

  #services(): Document[] {
    return [...this.#options.users.documents()]
      .map(([, document]) => document)
      .filter(({ kind }) => kind === 'ContainerService');
  }

  #document(name: string): Document | undefined {
    return this.#services().find((each) => each.name === name);
  }

  #idOf(document: Document): string | undefined {
    return this.#options.state.record(keyOf(document))?.externalId;
  }

  /** Services whose object is declared, and known to be theirs by whoever looks after it. */
  #recorded() {
    const { state } = this.#options;
    return this.#services().flatMap((document) => {
      const key = keyOf(document);
      const { externalId: id, generation, deletionRequestedAt } = state.record(key) ?? {};
      const isThere = id !== undefined && generation !== undefined && this.#exists(id);
      return isThere && deletionRequestedAt === undefined ? [{ id, key, generation, document }] : [];
    });
  }

  #later(delayMs: number, then: () => void): void {
    this.#options.after(delayMs, () => {
      if (!this.#isOver) then();
    });
  }

  /** What was answered, unless it was refused. */
  async #call(method: string, path: string, body: object, key: string): Promise<Json> {
    const text = JSON.stringify(body);
    const headers = {
      authorization: `Bearer ${ourKey}`,
      'idempotency-key': key,
      'content-type': 'application/json',
    };
    const reply = await this.#options.network.deliver({ method, path, key, text, isForeign: true }, headers);
    return reply && reply.status < 300 ? JSON.parse(reply.body) : undefined;
  }
}

/** It is said to be as its document, as far as that has been taken in. */
function isInSync(record: ObjectRecord | undefined): boolean {
  const { status, generation } = record ?? {};
  const synced = status?.conditions.find(({ type }) => type === 'Synced');
  return synced?.status === 'True' && status?.observedGeneration === generation;
}

function keyOf({ kind, name }: Document): ObjectKey {
  return objectKey(kind, 'default', name);
}
