/** Protocol buffers, as far as a document of texts and messages needs them: every field is a tag, a length and bytes. */

export function text(value: string): Buffer {
  return Buffer.from(value);
}

export function message(...fields: readonly (readonly [number: number, value: Buffer])[]): Buffer {
  const lengthDelimited = 2;
  return Buffer.concat(
    fields.flatMap(([number, value]) => [
      varint((number << 3) | lengthDelimited),
      varint(value.length),
      value,
    ]),
  );
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7f) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}
