/** S1, S13, S21, by what was asked for and not by marks: what exists for each object, and how often it was done what a person asked for once. */
import { parseObjectKey, type ObjectKey } from '../../../src/resources/index.ts';
import type { Plane } from '../plane.ts';
import type { Invariant, Json, View } from '../watch.ts';

const collections = new Set(['/api/services', '/api/volumes', '/api/templates', '/api/registries']);

/** What is being deleted is not there any more. */
function exists({ store }: Plane, id: string): boolean {
  const service = store?.services.get(id);
  const volume = store?.volumes.get(id);
  return (
    (service !== undefined && service.state !== 'deleting') ||
    (volume !== undefined && volume.status !== 'deleting') ||
    store?.templates.get(id) !== undefined ||
    store?.registries.get(id) !== undefined
  );
}

function isRetained(view: View, key: ObjectKey): boolean {
  const specs: Json[] = [view.disk.record(key)?.manifest.spec, ...view.history(key).map(({ spec }) => spec)];
  return specs.some((spec) => spec?.deletionPolicy === 'Retain');
}

/** For each object one thing is made, and another one only when that is gone. What it has in the end is all that was made for it. */
const s1OnePerObject: Invariant = (view) => {
  const askedFor = new Map<string, ObjectKey>();
  const made = new Map<ObjectKey, Set<string>>();
  /** A request that comes a second time, minutes later, is answered with what it has made. */
  const counted = new Set<string>();
  const alive = (key: ObjectKey) => [...(made.get(key) ?? [])].filter((id) => exists(view.plane, id));
  return {
    sent({ key, object }) {
      if (key !== undefined && object !== undefined) askedFor.set(key, object);
    },
    delivered({ method, path, key = '', reply, isForeign }) {
      const object = askedFor.get(key);
      const creates = method === 'POST' && collections.has(path) && reply.status === 201;
      if (!creates || isForeign || object === undefined) return;
      const { id } = JSON.parse(reply.body);
      if (counted.has(id)) return;
      counted.add(id);
      made.set(object, (made.get(object) ?? new Set()).add(id));
      const things = alive(object);
      if (things.length > 1) view.violated('S1', `${things.join(' and ')} were made for ${object}`);
    },
    /** It is forgotten: another one of its name has things of its own. */
    durable(write) {
      if (write.kind !== 'remove') return;
      const { key } = write;
      const kept = parseObjectKey(key).kind === 'ImageRegistry' && !isRetained(view, key) ? alive(key) : [];
      if (kept.length > 0) view.violated('S13', `${key} is forgotten, and ${kept.join(', ')} is still there`);
      made.delete(key);
    },
    finished() {
      for (const object of made.keys()) {
        const own = view.disk.record(object)?.externalId;
        const lost = alive(object).filter((id) => id !== own);
        if (lost.length > 0)
          view.violated('S1', `${object} has ${own}; ${lost.join(', ')} was made for it, too, and is there`);
      }
    },
  };
};

/** A restart that a person asks for happens at most once; but for a second copy of a request whose first copy was refused (docs/internals/simulation.md). */
const s21OneRestart: Invariant = (view) => {
  const askedFor = new Map<string, ObjectKey>();
  const refused = new Set<string>();
  const restarts = new Map<ObjectKey, Set<string>>();
  return {
    sent({ key, object, body }) {
      if (key !== undefined && object !== undefined && body?.action === 'restart') askedFor.set(key, object);
    },
    delivered({ key = '', reply }) {
      const object = askedFor.get(key);
      if (reply.status >= 300) refused.add(key);
      if (object === undefined || refused.has(key)) return;
      const done = (restarts.get(object) ?? new Set()).add(key);
      restarts.set(object, done);
      const tokens = view.history(object).map(({ spec }): unknown => spec.restartToken);
      const wishes = tokens.filter((token, at) => token !== undefined && token !== tokens[at - 1]).length;
      if (done.size > wishes)
        view.violated('S21', `${object} was restarted ${done.size} times, and asked to be ${wishes} times`);
    },
  };
};

export const thingInvariants: readonly Invariant[] = [s1OnePerObject, s21OneRestart];
