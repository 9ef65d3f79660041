/**
 * Texts of accounts that are read far more often than they change, as UTF-8: one per account, kept until its version
 * changes. Beyond the bound the oldest one is dropped first.
 */
const defaultBoundBytes = 64 * 1024 * 1024;

interface Text {
  readonly version: number;
  readonly bytes: Buffer<ArrayBuffer>;
}

export class TextCache {
  readonly #texts = new Map<string, Text>();
  readonly #boundBytes: number;
  #totalBytes = 0;

  constructor(boundBytes = defaultBoundBytes) {
    this.#boundBytes = boundBytes;
  }

  /** The caller copies the bytes before it gives control back: they are released when the version moves on. */
  bytesOf(accountId: string, version: number, make: () => string): Buffer {
    const kept = this.#texts.get(accountId);
    if (kept?.version === version) return kept.bytes;
    const bytes = encode(make());
    if (kept) this.#release(accountId, kept);
    this.#texts.set(accountId, { version, bytes });
    this.#totalBytes += bytes.length;
    for (const [oldest, text] of this.#texts) {
      if (this.#totalBytes <= this.#boundBytes || oldest === accountId) break;
      this.#release(oldest, text);
    }
    return bytes;
  }

  /** Frees the memory now: texts live long enough to wait for a full collection, and are large. */
  #release(accountId: string, { bytes }: Text): void {
    this.#texts.delete(accountId);
    this.#totalBytes -= bytes.length;
    bytes.buffer.transfer(0);
  }
}

function encode(text: string): Buffer<ArrayBuffer> {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}
