/**
 * Equal parts of objects, kept once: the specs of the replicas of a fleet, conditions that began in one second, labels, finalizers. A parser
 * makes each anew. Bounded: where all objects differ, nothing is saved, and little lost. A part is gone with the last object that has it,
 * and no text of it is kept, since a spec may have values that are withdrawn.
 */
import { hash, randomBytes } from 'node:crypto';
import { sameValue } from '../base/index.ts';
import type { KubernetesObject } from './types.ts';

const mostParts = 2000;
/** A fingerprint may outlive its part. With the salt no guess at the part can be checked against it. */
const salt = randomBytes(16).toString('hex');

type Members = Record<string, unknown>;

export class SharedParts {
  readonly #parts = new Map<string, WeakRef<object>>();

  /**
   * `object`: just parsed, so that nobody else has it. Its parts are replaced by equal ones, first by those of `previous`, which most
   * changes leave as they are. Returns it.
   */
  share(object: KubernetesObject, previous: KubernetesObject | undefined): KubernetesObject {
    const members = object as Members;
    for (const name of Object.keys(members)) {
      const member = members[name];
      if (!hasMembers(member)) continue;
      const before = previous && memberOf(previous, name);
      if (name === 'metadata' || name === 'status') this.#shareMembers(member, before);
      else members[name] = this.#shared(member, before);
    }
    return object;
  }

  #shareMembers(members: Members, before: unknown): void {
    for (const name of Object.keys(members)) {
      const member = members[name];
      if (hasMembers(member)) members[name] = this.#shared(member, memberOf(before, name));
    }
  }

  #shared(part: object, before: unknown): object {
    if (hasMembers(before) && sameValue(before, part)) return before;
    const fingerprint = hash('sha256', `${salt}${JSON.stringify(part)}`, 'base64');
    const known = this.#parts.get(fingerprint)?.deref();
    if (known) return known;
    if (this.#parts.size >= mostParts) this.#parts.clear();
    this.#parts.set(fingerprint, new WeakRef(part));
    return part;
  }
}

function memberOf(value: unknown, name: string): unknown {
  return hasMembers(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function hasMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null;
}
