/**
 * The records of one kind and account as a JSON array, in pieces. A piece is made anew only when one of its records
 * has changed, and answers refer to pieces without copying them. So the cost of one read does not depend on the size
 * of the account, but on what has changed.
 *
 * The id of its last record, or its size, decides where a piece ends. So a removed record changes its own piece only.
 */
import type { Collection } from '../store/collection.ts';

/** A JSON array, to be sent one after the other; the first is its opening bracket, the last its closing one. */
export interface Pieces {
  readonly buffers: readonly Buffer[];
  readonly bytes: number;
}

interface Piece<Item> {
  readonly records: readonly Item[];
  readonly buffer: Buffer;
}

interface List<Item> extends Pieces {
  readonly version: number;
  /** By the id of the first record. */
  readonly pieces: ReadonlyMap<string, Piece<Item>>;
}

const largestPieceBytes = 64 * 1024;
/** On average; a power of two, at most 256. */
const recordsPerPiece = 32;
const defaultBoundBytes = 64 * 1024 * 1024;
const [opening, comma, closing] = ['[', ',', ']'].map((text) => Buffer.from(text)) as [
  Buffer,
  Buffer,
  Buffer,
];

export class ListView<Item extends { id: string; accountId: string }> {
  readonly #collection: Pick<Collection<Item>, 'of' | 'version'>;
  readonly #json: (record: Item) => string;
  readonly #boundBytes: number;
  /** By account, the oldest first. It is also dropped first when all together are too large. */
  readonly #lists = new Map<string, List<Item>>();
  #bytes = 0;

  /** `json` gives the same text for the same record. */
  constructor(
    collection: Pick<Collection<Item>, 'of' | 'version'>,
    json: (record: Item) => string,
    boundBytes = defaultBoundBytes,
  ) {
    this.#collection = collection;
    this.#json = json;
    this.#boundBytes = boundBytes;
  }

  of(accountId: string): Pieces {
    const version = this.#collection.version(accountId);
    const kept = this.#lists.get(accountId);
    if (kept?.version === version) return kept;
    const list = this.#make(this.#collection.of(accountId), version, kept?.pieces);
    this.#forget(accountId);
    this.#lists.set(accountId, list);
    this.#bytes += list.bytes;
    for (const oldest of this.#lists.keys()) {
      if (this.#bytes <= this.#boundBytes || oldest === accountId) break;
      this.#forget(oldest);
    }
    return list;
  }

  #make(records: Iterable<Item>, version: number, before?: ReadonlyMap<string, Piece<Item>>): List<Item> {
    const pieces = new Map<string, Piece<Item>>();
    const buffers = [opening];
    for (const group of this.#groups(records)) {
      const id = group[0]?.id ?? '';
      const same = before?.get(id);
      const piece = same && isSame(same.records, group) ? same : this.#piece(group);
      if (pieces.size > 0) buffers.push(comma);
      buffers.push(piece.buffer);
      pieces.set(id, piece);
    }
    buffers.push(closing);
    return { version, pieces, buffers, bytes: buffers.reduce((sum, { length }) => sum + length, 0) };
  }

  *#groups(records: Iterable<Item>): Iterable<Item[]> {
    let group: Item[] = [];
    let length = 0;
    for (const record of records) {
      group.push(record);
      length += this.#json(record).length;
      if (length < largestPieceBytes && !endsPiece(record.id)) continue;
      yield group;
      group = [];
      length = 0;
    }
    if (group.length > 0) yield group;
  }

  #piece(records: readonly Item[]): Piece<Item> {
    return { records, buffer: encode(records.map(this.#json).join(',')) };
  }

  #forget(accountId: string): void {
    this.#bytes -= this.#lists.get(accountId)?.bytes ?? 0;
    this.#lists.delete(accountId);
  }
}

/** The last digits of ids are random. */
function endsPiece(id: string): boolean {
  return Number.parseInt(id.slice(-2), 16) % recordsPerPiece === 0;
}

function isSame<Item>(left: readonly Item[], right: readonly Item[]): boolean {
  return left.length === right.length && left.every((one, index) => one === right[index]);
}

/** Not a part of Node's pool, which would live as long as the piece. */
function encode(text: string): Buffer {
  const buffer = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  buffer.write(text);
  return buffer;
}
