/** What the server serves: the built-in kinds from one table, and those that CustomResourceDefinitions add. */
import * as builtIn from './built-in.ts';
import type { Fields, StoredObject } from './objects.ts';
import type { FieldError } from './errors.ts';
import type { ScalePaths } from './scale.ts';
import type { CustomSchema } from './schema/custom-schema.ts';

export interface Column {
  readonly name: string;
  readonly type: string;
  readonly jsonPath: string;
  readonly format?: string;
  readonly description?: string;
  /** Above 0: only with `-o wide`. */
  readonly priority?: number;
}

/** One served version of a resource. */
export interface Kind {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly listKind: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  /** Where its objects lie; versions of one resource share it. */
  readonly storage: string;
  readonly hasStatus: boolean;
  /** Where its size is, for `/scale`. */
  readonly scale?: ScalePaths;
  /** Whether `metadata.generation` counts the changes of what is not status. */
  readonly hasGeneration: boolean;
  /** Whether a replacement may do without `metadata.resourceVersion`. */
  readonly unconditionalUpdate: boolean;
  readonly columns: readonly Column[];
  /** Paths for `fieldSelector`, beside `metadata.name` and `metadata.namespace`. */
  readonly selectable: readonly string[];
  /** Of a custom resource. */
  readonly schema?: CustomSchema;
  /** Of a built-in kind: what the server fills in. */
  readonly complete?: (object: StoredObject) => StoredObject;
  readonly check?: (object: StoredObject) => readonly FieldError[];
  /** Fields that hold a time with exactly six digits after the point. */
  readonly microTimes: readonly string[];
  /** Of a version with another form than the stored one. */
  readonly form?: {
    readonly toStored: (object: Fields) => Fields;
    readonly toServed: (object: StoredObject) => StoredObject;
  };
}

export class Kinds {
  readonly #kinds = new Map<string, Kind>();

  constructor() {
    for (const kind of builtIn.kinds) this.#kinds.set(name(kind), kind);
  }

  find(group: string, version: string, plural: string): Kind | undefined {
    return this.#kinds.get(name({ group, version, plural }));
  }

  /** The first served version of a stored resource. */
  ofStorage(storage: string): Kind | undefined {
    return this.all().find((kind) => kind.storage === storage);
  }

  ofReference(apiVersion: string, kindName: string): Kind | undefined {
    return this.all().find((kind) => apiVersionOf(kind) === apiVersion && kind.kind === kindName);
  }

  all(): readonly Kind[] {
    return [...this.#kinds.values()];
  }

  /** Replaces all versions of one resource. */
  replace(storage: string, versions: readonly Kind[]): void {
    for (const [key, kind] of this.#kinds) {
      if (kind.storage === storage) this.#kinds.delete(key);
    }
    for (const kind of versions) this.#kinds.set(name(kind), kind);
  }
}

export function apiVersionOf({ group, version }: Pick<Kind, 'group' | 'version'>): string {
  return group ? `${group}/${version}` : version;
}

function name({ group, version, plural }: Pick<Kind, 'group' | 'version' | 'plural'>): string {
  return `${group}/${version}/${plural}`;
}
