import type { DigestKey, VersionedMap } from '../../base/index.ts';
import type { DataId, DesiredSnapshot } from '../../desired/index.ts';

type Data = DesiredSnapshot['secrets'] extends VersionedMap<string, infer Values> ? Values : never;

/**
 * Notices changed values of Secrets and ConfigMaps. They have no record of their own, and only a digest of
 * them is kept.
 */
export class ValuesWatch {
  readonly #digestKey: DigestKey;
  readonly #digests = new Map<DataId, string>();
  #seen: Pick<DesiredSnapshot, 'secrets' | 'configMaps'> | undefined;

  constructor(digestKey: DigestKey) {
    this.#digestKey = digestKey;
  }

  /** Those that differ from the snapshot before. None for the first one. */
  moved({ secrets, configMaps }: DesiredSnapshot): readonly DataId[] {
    const before = this.#seen;
    this.#seen = { secrets, configMaps };
    const moved = [
      ...this.#movedIn('Secret', secrets, before?.secrets),
      ...this.#movedIn('ConfigMap', configMaps, before?.configMaps),
    ];
    return before ? moved : [];
  }

  #movedIn(
    kind: 'Secret' | 'ConfigMap',
    now: VersionedMap<string, Data>,
    before: VersionedMap<string, Data> | undefined,
  ): DataId[] {
    const changed = before ? now.changedSince(before) : 'all';
    const names = changed === 'all' ? new Set([...now.keys(), ...(before?.keys() ?? [])]) : changed;
    return [...names].flatMap((name) => {
      const id = `${kind}/${name as `${string}/${string}`}` as const;
      const digest = this.#digestOf(now.get(name));
      if (this.#digests.get(id) === digest) return [];
      if (digest === undefined) this.#digests.delete(id);
      else this.#digests.set(id, digest);
      return [id];
    });
  }

  #digestOf(data: Data | undefined): string | undefined {
    if (!data) return undefined;
    return this.#digestKey.digest([
      [...data].map(([key, value]) => [key, value.reveal()]),
      data.allowedOrigins,
      data.fault,
      data.faults && [...data.faults],
    ]);
  }
}
