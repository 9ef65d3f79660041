/** Bodies that are no JSON, or none that anybody should take: random damage to the text of a right one. */
import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import type { Endpoint } from './endpoints.ts';
import { malformed, type Header, type Malformed } from './requests.ts';

type Damage = (text: string, at: number, choice: number) => string | Buffer;

const appended = ['x', '}', ']', ',', '{}', '\0', '"', '//', 'null'];
const prepended = ['x', ',', '}', '\0', '/**/', '\u00a0', '\uFEFF\uFEFF', "'", '+'];
const controls = ['\u0000', '\u0001', '\n\u001f', '\u0007'];
/** No UTF-8 anywhere: bytes that never occur, an overlong NUL, half a surrogate pair, cut sequences. */
const notUtf8 = ['ff', 'c080', 'eda080', 'f8', 'c3', 'f09f92'].map((hex) => Buffer.from(hex, 'hex'));

const damages: Readonly<Record<string, Damage>> = {
  truncated: (text, at) => text.slice(0, at),
  'something behind': (text, _, choice) => text + pick(appended, choice),
  'something before': (text, _, choice) => pick(prepended, choice) + text,
  'a control character': (text, at, choice) => text.slice(0, at) + pick(controls, choice) + text.slice(at),
  'bytes that are no UTF-8': (text, at, choice) => {
    const bytes = Buffer.from(text);
    return Buffer.concat([bytes.subarray(0, at), pick(notUtf8, choice), bytes.subarray(at)]);
  },
  'another encoding': (text) => Buffer.from(text, 'utf16le'),
  'half a surrogate pair': (text, _, choice) =>
    /":"\w+"/.test(text) && choice % 2 === 0
      ? text.replace(/":"\w+"/, String.raw`":"\ud800"`)
      : text.replace('{', String.raw`{"\udfff":1,`),
  'single quotes': (text) => text.replaceAll('"', "'"),
  'an array': (text) => `[${text}]`,
  'two documents': (text) => `${text}\n${text}`,
  'a text': (text) => JSON.stringify(text),
  'deep arrays': (_, at) => '['.repeat(1_000 * at),
  'deep arrays with ends': (_, at) => '['.repeat(1_000 * at) + ']'.repeat(1_000 * at),
  'deep objects': (_, at) => '{"a":'.repeat(500 * at) + '1' + '}'.repeat(500 * at),
  'a duplicate that is wrong': (text) =>
    text.replace(/\{"(\w+)":/, '{"$1":[],"$1":').replace(/\}$/, ',"surprise":1}'),
};

export function damagedTexts(endpoints: readonly Endpoint[]): fc.Arbitrary<Malformed> {
  return fc
    .record({
      endpoint: fc.constantFrom(...endpoints),
      damage: fc.constantFrom(...Object.keys(damages)),
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      choice: fc.nat(),
    })
    .map(({ endpoint: { method, path, body }, damage, at, choice }) => {
      const text = JSON.stringify(body);
      const place = 1 + Math.floor(at * (text.length - 2));
      return malformed(damage, { method, path, body: damages[damage]?.(text, place, choice) ?? '' });
    });
}

/** Few, because each costs a megabyte. */
export function hugeBodies(endpoints: readonly Endpoint[]): Malformed[] {
  const megabyte = 1024 * 1024;
  return endpoints.flatMap(({ method, path, body }) => {
    const text = JSON.stringify(body);
    const send = (what: string, content: string | Buffer, headers: Header[] = []) =>
      malformed(what, { method, path, body: content, headers }, { halfClose: true });
    return [
      send('a text of a megabyte', JSON.stringify('x'.repeat(megabyte))),
      send('a right body in a megabyte of blanks', text + ' '.repeat(megabyte)),
      send('a member of a megabyte', text.replace(/\}$/, `,"x":"${'x'.repeat(megabyte)}"}`)),
      send('compressed', gzipSync(text), [['Content-Encoding', 'gzip']]),
    ];
  });
}

/** Where no body is needed, and an unknown id keeps what is right about the request from having an effect. */
export function unneededBodies(): Malformed[] {
  const nobody = '3f0c2f8e-9d68-4a3b-9c0f-2b9d3a3f1a11';
  const bodies = ['[', '{"a":', 'x', '[1]x', '['.repeat(100_000) + ']'.repeat(100_000)];
  const targets = [
    { method: 'DELETE', path: `/api/volumes/${nobody}` },
    { method: 'POST', path: `/api/services/${nobody}/browser-session` },
  ];
  return targets.flatMap((target) =>
    bodies.map((body) => malformed('an unneeded body', { ...target, body }, { halfClose: true })),
  );
}

function pick<Value>(values: readonly Value[], choice: number): Value {
  return values[choice % values.length] as Value;
}
