import type { DigestKey } from '../base/index.ts';
import type { DesiredSnapshot } from '../desired/index.ts';

/** Notices when a value of a Secret or ConfigMap moves: they have no record of their own, and are kept as a digest only. */
export class ValuesWatch {
  readonly #digestKey: DigestKey;
  #seen: readonly unknown[] = [];
  #digest = '';

  constructor(digestKey: DigestKey) {
    this.#digestKey = digestKey;
  }

  /** Since the snapshot before; false for the first one. */
  moved({ secrets, configMaps }: DesiredSnapshot): boolean {
    // A cluster has many snapshots, and the same values in most of them.
    if (this.#seen[0] === secrets && this.#seen[1] === configMaps) return false;
    this.#seen = [secrets, configMaps];
    const plain = [secrets, configMaps].map((maps) =>
      [...maps].map(([name, values]) => {
        const texts = [...values].map(([key, value]) => [key, value.reveal()]);
        return [name, texts, values.allowedOrigins];
      }),
    );
    const before = this.#digest;
    this.#digest = this.#digestKey.digest(plain);
    return before !== '' && before !== this.#digest;
  }
}
