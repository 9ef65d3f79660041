/**
 * The symbols of Node are a seventh of it. A kernel and a dynamic loader read what the program headers name; the tables for linkers and
 * debuggers follow behind that, in each Node that is published. So the file can end there, whatever its architecture.
 */
'use strict';

const machines = { 62: 'amd64', 183: 'arm64' };
const loaded = 1;

/** Throws for what is no program for Linux on an architecture of `machines`. */
function withoutSymbols(file) {
  const isElf = file.length > 64 && file.readUInt32BE(0) === 0x7f454c46;
  const architecture = isElf && file[4] === 2 && file[5] === 1 ? machines[file.readUInt16LE(18)] : undefined;
  if (architecture === undefined) throw new Error('it is no 64-bit program for Linux on amd64 or arm64');
  const [at, size, count] = [Number(file.readBigUInt64LE(32)), file.readUInt16LE(54), file.readUInt16LE(56)];
  const ends = Array.from({ length: count }, (_, index) => at + index * size)
    .filter((header) => file.readUInt32LE(header) === loaded)
    .map((header) => Number(file.readBigUInt64LE(header + 8) + file.readBigUInt64LE(header + 32)));
  const bytes = Buffer.from(file.subarray(0, Math.max(...ends)));
  // Where the table of sections was, how many it had, and which one has their names.
  bytes.writeBigUInt64LE(0n, 40);
  bytes.fill(0, 58, 64);
  return { architecture, bytes };
}

module.exports = { withoutSymbols };
