/** Specs that are drawn at random, good ones and bad ones. */
import * as fc from 'fast-check';
import type { StructuralSchema } from '../../../src/crdgen/index.ts';
import type { ManagedKind } from '../../../src/resources/index.ts';
import { values } from './documents.ts';
import { openApiSchema } from './support.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Some of the fields, each with one of its values; those that have to be there may be missing, too. */
export function anySpec(kind: ManagedKind): fc.Arbitrary<Fields> {
  const some = Object.entries(values[kind]).map(
    ([field, those]) => [field, fc.constantFrom(undefined, undefined, undefined, ...those)] as const,
  );
  return fc.record(Object.fromEntries(some), { requiredKeys: [] });
}

/** Up to three fields of the schema, at its borders and beyond. */
export function borderSpec(kind: ManagedKind): fc.Arbitrary<Fields> {
  const spec = openApiSchema(kind).properties?.['spec'] as StructuralSchema;
  const fields = Object.entries(spec.properties ?? {}).filter(([field]) => !inWords.test(field));
  const drawn = fc.oneof(...fields.map(([field, own]) => fc.record({ [field]: drawnFrom(own) })));
  return fc
    .array(drawn, { minLength: 1, maxLength: 3 })
    .map((parts) => Object.assign({}, ...parts) as Fields);
}

/** Said in words of the one and of the other, which no two languages say alike: an address, a time, an image. */
const inWords = /url|deadline|cron|timeZone|repository/;

function drawnFrom(schema: StructuralSchema): fc.Arbitrary<unknown> {
  const { type, properties, items, nullable } = schema;
  if (properties) {
    const fields = Object.entries(properties).filter(([field]) => !inWords.test(field));
    const drawn = fields.map(([field, own]) => [field, drawnFrom(own)] as const);
    return fc.record(Object.fromEntries(drawn), { requiredKeys: [] });
  }
  if (items) return fc.array(drawnFrom(items), { maxLength: 3 });
  if (type === undefined || type === 'object') return fc.constant({});
  return fc.constantFrom(...bordersOf(schema), ...(nullable ? [null] : []));
}

/** Values at, beside and beyond the bounds that a schema has, and of other types. */
function bordersOf({
  type,
  minimum = 0,
  maximum = 1e4,
  maxLength = 70,
  enum: known,
}: StructuralSchema): unknown[] {
  if (known) return [...known, 'another'];
  const beside = [minimum, minimum - 1, minimum + 1, maximum, maximum + 1];
  if (type === 'integer') return [...beside, 0, 0.5, 2 ** 53, -(2 ** 53), '1', true];
  if (type === 'number') return [...beside, 0, 0.1, minimum / 2, minimum + 0.5, -0.1, 1e9, '1'];
  if (type === 'boolean') return [true, false, 'true', 0];
  return ['', 'a', 'A b', 'n'.repeat(maxLength), 'n'.repeat(maxLength + 1), 5];
}

/** What addresses, times and names of images are made of, right or not; spaces divide them, and `␠` is one. */
const fragments: Readonly<Record<string, readonly string[]>> = {
  url: split(
    'https:// http:// HTTPS:// a api.example.com localhost 127.0.0.1 [::1] [:: 0 ' +
      '. : :80 :0 :65536 / /api /api/ @ ? # % %2e ␠ \t ä xn-- _ -',
  ),
  repository: split(
    'ghcr.io localhost docker.io web acme A 0 127.0.0.1 [::1] / . - -- _ __ : :5000 :tag @ ␠ ä',
  ),
  deadline: split('2026 -01 -02 -30 -13 -00 T t ␠ 00 23 24 :00 :59 :60 .5 . Z z +02:00 -00:00 +24:00 +0200'),
  credentialsHeader: split('X- Api Key - _ ␠ : host Cookie Proxy- ä \n ( ~'),
};

function split(text: string): string[] {
  return text.split(' ').map((part) => part.replace('␠', ' '));
}

const wholes: Readonly<Record<string, readonly string[]>> = {
  url: ['https://api.example.com', 'http://127.0.0.1:8787', 'https://[::1]:1/x'],
  repository: ['ghcr.io/acme/web', 'localhost:5000/web'],
  deadline: [
    '2026-02-28T23:59:59Z',
    '2026-02-28T00:00:00.5+02:00',
    '2024-02-29T00:00:00Z',
    '2026-12-31t23:59:59.123456z',
  ],
  credentialsHeader: ['X-Api-Key'],
};

const placeOf: Readonly<Record<string, readonly [ManagedKind, (text: string) => Fields]>> = {
  url: ['Account', (url) => ({ url })],
  credentialsHeader: ['Account', (credentialsHeader) => ({ credentialsHeader })],
  repository: ['ImageRegistry', (repository) => ({ repository })],
  deadline: ['ProtectedTask', (deadline) => ({ until: { deadline } })],
};

/** For each field that holds words of another language: its kind, and a spec with a text that is nearly one. */
export const wordSpecs = Object.entries(placeOf).map(([field, [kind, place]]) => {
  const parts = fc.array(fc.constantFrom(...(fragments[field] ?? [])), { maxLength: 6 });
  const made = fc.oneof(
    parts.map((those) => those.join('')),
    // A whole one, with something put in.
    fc
      .tuple(
        fc.constantFrom(...(wholes[field] ?? [])),
        fc.constantFrom(...(fragments[field] ?? [])),
        fc.nat(),
      )
      .map(([whole, part, at]) => {
        const before = at % (whole.length + 1);
        return whole.slice(0, before) + part + whole.slice(before);
      }),
  );
  return [field, kind, made.map(place)] as const;
});

/**
 * What no pattern says, and only the process knows: addresses and names in forms of their own, ports that are too high, `/.` and `/..` in a
 * path. An object with one is held, and says why.
 */
const unsaid =
  /^https?:\/\/(\[|[^/]*(xn--|[\u0080-\uffff])|[^/]*\d[^/.]*\.?([:/]|$)|.*\/(\.|%2e){1,2}(\/|$))/i;

/** `https://NAME`, with a port and a path: what the documentation has. The parser of the process takes more for an address. */
const documented = /^https?:\/\/[a-z\d-]+(\.[a-z\d-]+)*(:\d+)?(\/[\w.~-]*)*$/i;

/** Whether a cluster may answer otherwise than the process: it admits what it can't know, or refuses what nobody documents. */
export function mayDiffer(spec: Fields, admitted: boolean): boolean {
  const { url } = spec as { readonly url?: string };
  return url !== undefined && (admitted ? unsaid.test(url) : !documented.test(url));
}
