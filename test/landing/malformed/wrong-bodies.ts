/**
 * Wrong bodies, derived from a right one: each field through a table of values that its kind does not allow, each
 * required one left out, something that nobody asked for in each object, and the text itself damaged.
 */
import type { Endpoint, Json, Kind } from './endpoints.ts';

/** Of JSON text that no parser may take, or that stands for another value than it seems. */
const rawValues = [
  'NaN',
  'Infinity',
  '-',
  '01',
  '1e999',
  '0x10',
  "'x'",
  'undefined',
  '[1,]',
  '{,}',
  '"\\x"',
  '"\u0001"',
];
const rawMark = '<raw>';

const notText: Json[] = [null, true, 0, 1.5, [], {}, ['x'], { x: 1 }];
const notNumber: Json[] = [null, true, '1', '', [], {}, [1]];

export function wrongValues(kind: Kind): Json[] {
  switch (kind.is) {
    case 'text': {
      const tooLong =
        kind.longest === undefined ? [] : ['x'.repeat(kind.longest + 1), 'é'.repeat(kind.longest * 2)];
      return [...notText, ...tooLong, ...(kind.mayBeEmpty ? [] : [''])];
    }
    case 'integer': {
      const outside = [kind.min - 1, kind.max + 1, -1, -kind.max, 2 ** 53, 1e308, -1e308];
      return [...notNumber, ...outside, kind.min + 0.5, Number.MIN_VALUE];
    }
    case 'amount':
      return [
        ...notNumber,
        -1,
        -Number.MIN_VALUE,
        kind.max + 1,
        1e308,
        ...(kind.isWhole ? [0.5] : [0, 4e-10]),
      ];
    case 'uuid':
      return [...notText, '', 'x', '../../etc/passwd', '3f0c2f8e-9d68-4a3b-9c0f-2b9d3a3f1a1', '0'.repeat(40)];
    case 'boolean':
      return [null, 0, 1, 'true', '', [], {}];
    case 'words':
      return [
        null,
        true,
        1,
        'run',
        {},
        [null],
        [1],
        ['run', {}],
        [['run']],
        ...(kind.mayBeEmpty ? [] : [[]]),
      ];
    case 'names':
      return [
        null,
        true,
        1,
        'TOKEN',
        {},
        [null],
        [1],
        [''],
        ['A=B'],
        ['A B'],
        ['A\nB'],
        ['A', 'A'],
        ['x'.repeat(257)],
      ];
    case 'environment':
      return [
        null,
        true,
        1,
        'A=1',
        [],
        ['A=1'],
        { A: 1 },
        { A: null },
        { A: {} },
        { '': '1' },
        { 'A=B': '1' },
        { 'A\0': '1' },
        { A: '\0' },
      ];
    case 'one of':
      return [
        ...notText,
        '',
        'x',
        ...kind.values.flatMap((value) => [` ${value}`, value.toUpperCase(), `${value}\0`]),
      ];
    case 'object':
      return [null, true, 1, 'x', [], [{}], {}];
  }
}

export interface WrongBody {
  readonly what: string;
  readonly text: string;
}

/** All of them: the same ones each time. */
export function wrongBodies({ body, fields }: Endpoint): WrongBody[] {
  const wrong: WrongBody[] = [];
  for (const [path, { kind, isRequired = false, mayBeNull = false }] of Object.entries(fields)) {
    const values = wrongValues(kind).filter((value) => !(value === null && mayBeNull));
    for (const value of values) {
      wrong.push({ what: `${path} = ${shown(value)}`, text: JSON.stringify(changed(body, path, value)) });
    }
    for (const raw of rawValues) {
      const marked = JSON.stringify(changed(body, path, rawMark));
      wrong.push({ what: `${path} = ${raw}`, text: marked.replace(`"${rawMark}"`, () => raw) });
    }
    if (isRequired) {
      wrong.push({ what: `${path} left out`, text: JSON.stringify(changed(body, path, undefined)) });
    }
  }
  const objects = [
    '',
    ...Object.entries(fields).flatMap(([path, { kind }]) => (kind.is === 'object' ? [path] : [])),
  ];
  for (const path of objects) {
    for (const name of ['surprise', 'constructor', 'toString', '', 'é', 'id', 'accountId']) {
      const at = path === '' ? name : `${path}.${name}`;
      wrong.push({ what: `${at} added`, text: JSON.stringify(changed(body, at, { prototype: { x: 1 } })) });
    }
    const marked = JSON.stringify(changed(body, path === '' ? rawMark : `${path}.${rawMark}`, { x: 1 }));
    wrong.push({ what: `${path}.__proto__ added`, text: marked.replace(rawMark, '__proto__') });
  }
  return wrong;
}

/** A copy with another value at this path; undefined leaves it out. */
function changed(body: Json, path: string, value: Json): Json {
  const copy = structuredClone(body);
  const names = path.split('.');
  const last = names.pop() ?? '';
  let place = copy;
  for (const name of names) place = place[name] ??= {};
  Object.defineProperty(place, last, { value, enumerable: true, configurable: true, writable: true });
  return copy;
}

function shown(value: Json): string {
  return JSON.stringify(value).slice(0, 40);
}
