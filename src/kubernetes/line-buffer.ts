/** Puts together the lines of a stream, whose chunks end anywhere, also within a character. */
export class LineBuffer {
  readonly #longestBytes: number;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(longestBytes: number) {
    this.#longestBytes = longestBytes;
  }

  /** Bytes of a line that has not ended. */
  get pendingBytes(): number {
    return this.#bytes;
  }

  /** The lines that end in this chunk, without empty ones. Throws a `RangeError` when one becomes too long. */
  push(chunk: Buffer): string[] {
    const lines: string[] = [];
    let start = 0;
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, start)) {
      this.#keep(chunk.subarray(start, end));
      const line = this.#take();
      if (line.trim() !== '') lines.push(line);
      start = end + 1;
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start));
    return lines;
  }

  #keep(part: Buffer): void {
    this.#bytes += part.length;
    if (this.#bytes > this.#longestBytes) {
      throw new RangeError(`a line is longer than ${this.#longestBytes} bytes`);
    }
    this.#parts.push(part);
  }

  #take(): string {
    const [first] = this.#parts;
    const line = this.#parts.length === 1 && first ? first : Buffer.concat(this.#parts, this.#bytes);
    this.#parts = [];
    this.#bytes = 0;
    return line.toString('utf8');
  }
}
