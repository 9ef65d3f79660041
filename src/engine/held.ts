/** What the commands `inventory` and `import` are to know of the things of a kind, whoever made them. */
import type { wire } from '../api/index.ts';

export interface AccountContents {
  readonly services: readonly wire.Service[];
  readonly volumes: readonly wire.Volume[];
  /** Without the built-in ones, which are nobody's to manage. */
  readonly templates: readonly wire.Template[];
  readonly registries: readonly wire.Registry[];
}

/** Where an imported object is put, and under which name. */
export interface Place {
  readonly namespace: string;
  readonly name: string;
  /** The name of the Account. */
  readonly account: string;
}

/** What is around a thing that is imported. */
export interface ImportContext {
  readonly contents: AccountContents;
  /** The name of the object that was imported for the thing with this id, among those of kinds that are `imported: 'first'`. */
  readonly objectOf: (id: string) => string | undefined;
  /** A value as others wrote it, short and harmless. */
  readonly quote: (value: unknown) => string;
}

/** What a document can't say, and why. */
export interface Gap {
  /** Of the spec: `env`. */
  readonly field: string;
  readonly why: string;
  /** YAML to start from. */
  readonly example?: readonly string[];
}

/** The spec of an object that adopts the thing. */
export interface SpecDraft {
  /** Undefined members are left out. */
  readonly spec: Readonly<Record<string, unknown>>;
  /** Fields without which the document is not valid. */
  readonly needed: readonly string[];
  readonly gaps: readonly Gap[];
}

export interface HeldThings<Thing> {
  /** As the provider shows it, mark included. */
  name(thing: Thing): string | undefined;
  state(thing: Thing): string | undefined;
  /** What it costs in an hour now; undefined if the API shows no price. */
  burn(thing: Thing): bigint | undefined;
  isGoing?(thing: Thing): boolean;
  /** It is deleted with another thing, is managed with it, and is imported as a part of it. */
  isPart?(thing: Thing): boolean;
  /** The id of the thing that it is a part of. */
  wholeOf?(thing: Thing, contents: AccountContents): string | undefined;
  /** Before others, whose documents refer to it. */
  readonly imported?: 'first';
  /** Of the object's name, where there is another limit than that of Kubernetes. */
  readonly longestName?: number;
  /** What identifies it best in its name at the provider; default all of it. */
  bestName?(name: string): string;
  draft(thing: Thing, place: Place, context: ImportContext): SpecDraft;
}
