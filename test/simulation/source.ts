/**
 * The folder, as it is read: each document is a file. It may lose its documents for a while (a bad mount), or be
 * readable in part only; then what it shows is not what its users want. A single file may lose what it said and be there all the same (a full
 * disk, a copy that stands still).
 */
import { stringify } from 'yaml';
import { following, type DesiredSnapshot, type DesiredSource } from '../../src/desired/index.ts';
import { desiredOf } from '../support/desired.ts';
import type { DocumentStore } from './place.ts';
import type { Json } from './watch.ts';

/** `half`: of the rest it is known that it could not be read. */
export type Loss = 'none' | 'empty' | 'half';

/** What an interrupted copy leaves of a file: nothing, or another document that stood before the lost one. */
const cutOff = {
  wholly: '# the disk was full\n',
  partly: stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'before' } }),
} as const;
/** `mistaken`: it is there, and a field of it is not what it may be. */
export type Cut = keyof typeof cutOff | 'mistaken';

export class SimulatedFolder implements DocumentStore {
  readonly #files = new Map<string, string>();
  readonly #cut = new Map<string, Cut>();
  readonly #listeners = new Set<(snapshot: DesiredSnapshot) => void>();
  #loss: Loss = 'none';
  #shown: DesiredSnapshot = desiredOf({});

  write(file: string, document: Json): true {
    this.#files.set(file, stringify(document));
    this.#cut.delete(file);
    return true;
  }

  /** A script edits the file. */
  scale(file: string, document: Json): true {
    return this.write(file, document);
  }

  remove(file: string): void {
    this.#files.delete(file);
    this.#cut.delete(file);
  }

  /** `seed` chooses the file. Returns how to mend it; one that was written or removed meanwhile stays as it is. */
  truncate(seed: number, cut: keyof typeof cutOff): () => void {
    const files = [...this.#files.keys()].filter((each) => !each.startsWith('account'));
    const file = files[seed % files.length];
    return this.#cutFile(file, cut);
  }

  break(file: string): () => void {
    return this.#cutFile(this.#files.has(file) ? file : undefined, 'mistaken');
  }

  /** One at a time. */
  #cutFile(file: string | undefined, cut: Cut): () => void {
    if (file === undefined || this.#cut.size > 0) return () => {};
    this.#cut.set(file, cut);
    this.publish();
    return () => {
      this.#cut.delete(file);
      this.publish();
    };
  }

  discard(file: string): void {
    this.remove(file);
  }

  /** Who reads it is told. */
  publish(): void {
    const read = following(this.#shown, desiredOf(this.#visible()));
    this.#shown = this.#loss === 'half' ? { ...read, complete: false } : read;
    for (const listener of this.#listeners) listener(this.#shown);
  }

  lose(loss: Loss): void {
    this.#loss = loss;
    this.publish();
  }

  /** A file that is gone leaves nothing behind. */
  isLeaving(): boolean {
    return false;
  }

  heal(): void {
    this.#cut.clear();
    this.lose('none');
  }

  /** For one life of the manager; `isOver` tells when that is no more. */
  source(isOver: () => boolean): DesiredSource {
    let listener: ((snapshot: DesiredSnapshot) => void) | undefined;
    return {
      description: 'the simulated folder',
      start: async (onChange) => {
        listener = (snapshot) => {
          if (!isOver()) onChange(snapshot);
        };
        this.#listeners.add(listener);
        return this.#shown;
      },
      stop: async () => {
        if (listener) this.#listeners.delete(listener);
      },
    };
  }

  #visible(): Record<string, string> {
    const files = [...this.#files].map(([file, text]) => {
      const cut = this.#cut.get(file);
      const shown = cut === 'mistaken' ? text.replace(/^ {2}template:/m, '  temp1ate:') : cut && cutOff[cut];
      return [file, shown ?? text] as const;
    });
    if (this.#loss === 'empty') return {};
    const visible = this.#loss === 'half' ? files.filter((_, index) => index % 2 === 0) : files;
    return Object.fromEntries(visible);
  }
}
