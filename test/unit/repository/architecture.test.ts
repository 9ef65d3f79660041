import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { actions } from '../../../src/actions/index.ts';
import { managedKinds } from '../../../src/resources/index.ts';

const root = path.join(import.meta.dirname, '../../..');

/** What a room imports beside itself and Node. `docs/internals/architecture.md` has the same table, for people. */
interface Row {
  readonly rooms?: readonly string[] | 'all of the above';
  /** Rooms of which only types are imported. */
  readonly types?: readonly string[];
  /** Single files of other rooms. */
  readonly files?: readonly string[];
  readonly packages?: readonly string[];
}

const table: Readonly<Record<string, Row>> = {
  base: {},
  reasons: {},
  'resources/parts': { rooms: ['reasons'], packages: ['croner', 'zod'] },
  'kinds/declarations.ts': { rooms: ['reasons', 'resources/parts'], packages: ['zod'] },
  resources: { rooms: ['kinds/declarations.ts', 'resources/parts'], packages: ['zod'] },
  telemetry: { packages: ['pino', 'prom-client'] },
  api: { rooms: ['base', 'telemetry'], packages: ['zod', 'undici', 'p-queue'] },
  actions: { rooms: ['base', 'reasons'], types: ['api'] },
  kubernetes: {
    rooms: ['base', 'resources', 'telemetry'],
    packages: ['@kubernetes/client-node', 'undici'],
  },
  state: { rooms: ['actions', 'base', 'kubernetes', 'reasons', 'resources'], packages: ['p-queue'] },
  desired: {
    rooms: ['base', 'kubernetes', 'resources', 'telemetry'],
    packages: ['yaml', 'js-yaml', 'chokidar', 'tinyqueue'],
  },
  observed: { rooms: ['api', 'base', 'reasons', 'telemetry'] },
  'engine/plan': {
    rooms: ['actions', 'base', 'reasons', 'resources'],
    types: ['api', 'state'],
    files: ['api/wire.ts'],
  },
  'engine/mutation': { rooms: ['actions', 'api', 'base', 'engine/plan', 'reasons', 'state', 'telemetry'] },
  'engine/status': {
    rooms: ['actions', 'base', 'engine/plan', 'reasons'],
    types: ['api', 'resources', 'state'],
  },
  engine: { rooms: 'all of the above' },
  kinds: { rooms: 'all of the above', files: ['api/wire.ts'] },
  activities: { rooms: ['api', 'base', 'telemetry'], packages: ['tinyqueue'] },
  jobs: {
    rooms: ['base', 'kubernetes', 'engine/plan', 'engine', 'kinds/declarations.ts', 'resources', 'telemetry'],
  },
  'plan-file': {
    rooms: ['actions', 'base', 'desired', 'engine/plan', 'engine', 'reasons', 'resources', 'state'],
    packages: ['zod'],
  },
  manager: { rooms: 'all of the above' },
  policy: {
    rooms: ['base', 'desired', 'engine/plan', 'resources'],
    types: ['engine'],
    packages: ['@marcbachmann/cel-js', 'zod'],
  },
  shown: {
    rooms: [
      'base',
      'engine/plan',
      'engine',
      'kinds',
      'kinds/declarations.ts',
      'reasons',
      'resources',
      'state',
    ],
    types: ['desired', 'kubernetes'],
  },
  'read-api': {
    rooms: [
      'base',
      'engine/plan',
      'engine',
      'kinds',
      'kinds/declarations.ts',
      'manager',
      'reasons',
      'resources',
      'shown',
      'state',
    ],
    packages: ['jose', 'yaml', 'zod'],
  },
  http: { rooms: ['base'], types: ['read-api'], packages: ['fastify'] },
  page: { types: ['control-plane', 'read-api'], packages: ['eventsource-parser', 'lit-html', 'zod'] },
  'control-plane': {
    rooms: ['base', 'kubernetes'],
    types: ['telemetry'],
    files: ['api/wire.ts'],
    packages: [
      'fastify',
      '@fastify/swagger',
      'fastify-type-provider-zod',
      'jose',
      'pino',
      'prom-client',
      'undici',
      'yaml',
      'zod',
    ],
  },
  crdgen: { rooms: ['base', 'kinds/declarations.ts', 'reasons', 'resources'], packages: ['yaml', 'zod'] },
  cli: {
    rooms: 'all of the above',
    packages: [
      'commander',
      'ansis',
      'fast-string-width',
      'json-p3',
      'log-update',
      'string-width',
      'yaml',
      'zod',
    ],
  },
};
const rooms = Object.keys(table);

/** What a kind declares of itself, for rooms that know nothing of the engine. */
const declares = /^kinds\/(declarations|[^/]+\/(declaration|state|schema(-[a-z]+)?))\.ts$/;

/**
 * The rooms within a room, each with those that it imports beside itself; `top`: the files beside them. Types of `top` may be imported
 * anywhere in the room.
 */
const innerRooms: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'control-plane': {
    store: [],
    domain: ['store'],
    config: ['domain'],
    identity: ['store', 'domain', 'config'],
    http: ['store', 'domain', 'identity'],
    runtimes: ['store', 'domain', 'config'],
    top: ['store', 'domain', 'config', 'identity', 'http', 'runtimes'],
  },
  desired: {
    secrets: ['top'],
    folder: ['top', 'secrets'],
    cluster: ['top'],
    top: ['folder', 'cluster', 'secrets'],
  },
  engine: {
    fleet: [],
    money: ['fleet'],
    outcomes: ['fleet', 'money'],
    observation: ['fleet', 'outcomes'],
    admission: ['fleet', 'money', 'outcomes'],
    problems: [],
    top: ['fleet', 'money', 'outcomes', 'observation', 'admission', 'problems'],
  },
  cli: {
    flags: ['top'],
    output: ['top'],
    logs: ['top', 'account', 'output'],
    status: ['top', 'flags', 'output'],
    completion: ['top', 'flags'],
    account: ['top', 'flags', 'local', 'output'],
    change: ['top', 'local', 'output', 'progress'],
    import: ['top', 'account', 'output'],
    edit: ['top', 'account'],
    replicas: ['top', 'account', 'output'],
    demo: ['top', 'output'],
    progress: ['top', 'output'],
    offer: ['top', 'account', 'output'],
    local: ['top'],
    init: ['top', 'offer'],
    commands: [
      'top',
      'account',
      'change',
      'flags',
      'output',
      'status',
      'logs',
      'completion',
      'import',
      'edit',
      'replicas',
      'demo',
      'progress',
      'offer',
      'local',
      'init',
    ],
    top: ['flags', 'output', 'status', 'commands', 'local'],
  },
};

/** Files of kinds/ that put together what a planner may see, or act. All others there are pure. */
const assembling = new Set([
  'kind',
  'look',
  'view',
  'volume',
  'exchange',
  'desired-environment',
  'desired-credentials',
  'volume-object',
  'tasks',
  'identify',
  'activity',
  'service',
  'listed',
  'measurements',
  'slots-seen',
  'registry',
  'index',
]);

interface Import {
  readonly file: string;
  /** `base`, `fastify`, `node:fs`. */
  readonly from: string;
  /** For a file of ours: its path under `src/`. */
  readonly target: string | undefined;
  readonly typesOnly: boolean;
}

const statement =
  /^\s*(?:import|export)\s+(?<what>[^'";]*?\bfrom\s+)?'(?<named>[^']+)'|\bimport\(\s*'(?<dynamic>[^']+)'/gm;

/** Under `src/`, in the order of their names. */
const files = globSync('**/*.ts', { cwd: path.join(root, 'src') }).sort();
const texts = new Map(files.map((file) => [file, readFileSync(path.join(root, 'src', file), 'utf8')]));
const imports = files
  .flatMap((file) => importsOf(file, texts.get(file) ?? ''))
  // The version, which is in no room.
  .filter(({ target }) => target !== '../package.json');

function importsOf(file: string, text: string): Import[] {
  return [...text.matchAll(statement)].map(({ groups }) => {
    const specifier = groups?.['named'] ?? groups?.['dynamic'] ?? '';
    const target = specifier.startsWith('.') ? path.join(path.dirname(file), specifier) : undefined;
    const from = target === undefined ? packageOf(specifier) : roomOf(target);
    return { file, from, target, typesOnly: isTypesOnly(groups?.['what']) };
  });
}

function isTypesOnly(what = ''): boolean {
  if (/^type\b/.test(what)) return true;
  const names = /^\{(?<names>[^}]*)\}\s*from/.exec(what)?.groups?.['names'];
  return names !== undefined && names.split(',').every((name) => /^\s*(type\s|$)/.test(name));
}

/** `src/main.ts` is in no room. */
function roomOf(file: string): string {
  if (declares.test(file)) return 'kinds/declarations.ts';
  const [room = '', inner = '', ...rest] = file.split('/');
  if (inner === '') return '';
  return rest.length > 0 && table[`${room}/${inner}`] ? `${room}/${inner}` : room;
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

function importableRooms(room: string): readonly string[] {
  const { rooms: named = [] } = table[room] ?? {};
  return named === 'all of the above' ? rooms.slice(0, rooms.indexOf(room)) : named;
}

function reported({ file, from, target, typesOnly }: Import): string {
  return `${file} imports ${typesOnly ? 'types of ' : ''}${target ?? from}`;
}

function isAllowed({ file, from, target, typesOnly }: Import): boolean {
  const room = roomOf(file);
  const row = table[room];
  if (room === '' || from === room || from.startsWith('node:')) return true;
  if (target === undefined) return row?.packages?.includes(from) ?? false;
  return (
    importableRooms(room).includes(from) ||
    (typesOnly && (row?.types?.includes(from) ?? false)) ||
    (row?.files?.includes(target) ?? false)
  );
}

describe('the imports of src/', () => {
  test('are found, in every way in which they are written', () => {
    const text = [
      `import './a.ts';`,
      `import b, { c, type D } from '../base/b.ts';`,
      `import type { E } from 'pino';`,
      `import {\n  type F,\n  type G,\n} from '@kubernetes/client-node/dist/x.js';`,
      `export * from './h.ts';`,
      `export type * from '../engine/plan/i.ts';`,
      `const j = await import('node:fs/promises');`,
    ].join('\n');
    expect(importsOf('cli/x.ts', text).map(reported)).toEqual([
      'cli/x.ts imports cli/a.ts',
      'cli/x.ts imports base/b.ts',
      'cli/x.ts imports types of pino',
      'cli/x.ts imports types of @kubernetes/client-node',
      'cli/x.ts imports cli/h.ts',
      'cli/x.ts imports types of engine/plan/i.ts',
      'cli/x.ts imports node:fs',
    ]);
    expect(imports.length).toBeGreaterThan(300);
  });

  test('lead to files that exist', () => {
    expect(imports.filter(({ target }) => target !== undefined && !texts.has(target)).map(reported)).toEqual(
      [],
    );
  });

  test('are those of the table', () => {
    expect(files.map(roomOf).filter((room) => room !== '' && !rooms.includes(room))).toEqual([]);
    expect(imports.filter((one) => !isAllowed(one)).map(reported)).toEqual([]);
  });

  test('come through the index of another room, where it has one', () => {
    // What the control plane shares; what is loaded only by who talks to a cluster.
    const entrances = new Set(['api/wire.ts', 'kubernetes/connect.ts']);
    const indexed = new Set(files.filter((file) => file.endsWith('/index.ts')).map(roomOf));
    const beside = imports.filter(
      ({ file, from, target }) =>
        target !== undefined &&
        from !== roomOf(file) &&
        indexed.has(from) &&
        path.basename(target) !== 'index.ts' &&
        !entrances.has(target) &&
        from !== 'base',
    );
    expect(beside.map(reported)).toEqual([]);
  });

  test('keep what a kind decides and reports pure', () => {
    const pureRooms = new Set([
      'actions',
      'base',
      'engine/plan',
      'engine/status',
      'kinds/declarations.ts',
      'reasons',
      'resources',
    ]);
    const isAssembly = (file: string) => assembling.has(path.basename(file, '.ts'));
    const decides = imports.filter(
      ({ file, typesOnly }) => roomOf(file) === 'kinds' && !isAssembly(file) && !typesOnly,
    );
    const impure = decides.filter(
      ({ from, target }) =>
        !pureRooms.has(from) &&
        target !== 'api/wire.ts' &&
        (from !== 'kinds' || target === undefined || isAssembly(target)),
    );
    expect(impure.map(reported)).toEqual([]);
    expect(decides.length).toBeGreaterThan(40);
  });

  test('make no circle of rooms', () => {
    const reaches = (from: string, seen = new Set<string>()): Set<string> => {
      for (const { file, from: to, target } of imports) {
        if (roomOf(file) !== from || target === undefined || to === from || seen.has(to)) continue;
        seen.add(to);
        reaches(to, seen);
      }
      return seen;
    };
    expect(rooms.filter((room) => reaches(room).has(room))).toEqual([]);
  });

  test.each(Object.entries(innerRooms))('of %s/ are those of its own rooms', (room, allowed) => {
    const innerOf = (file: string) => (file.split('/').length > 2 ? (file.split('/')[1] ?? '') : 'top');
    const within = imports.filter(
      ({ file, target }) => roomOf(file) === room && target !== undefined && roomOf(target) === room,
    );
    const wrong = within.filter(({ file, target = '', typesOnly }) => {
      const [from, to] = [innerOf(file), innerOf(target)];
      if (typesOnly && to === 'top') return false;
      return from !== to && !allowed[from]?.includes(to);
    });
    expect(wrong.map(reported)).toEqual([]);
    expect(new Set(files.filter((file) => roomOf(file) === room).map(innerOf))).toEqual(
      new Set(Object.keys(allowed)),
    );
  });

  test('bring the Kubernetes client into kubernetes/ only', () => {
    const found = imports.filter(
      ({ file, from }) => from === '@kubernetes/client-node' && roomOf(file) !== 'kubernetes',
    );
    expect(found.map(reported)).toEqual([]);
  });

  test('keep the reference control plane an island', () => {
    const ours = imports.filter(
      ({ file, target }) => roomOf(file) === 'control-plane' && target !== undefined,
    );
    // One runtime is a client of Kubernetes.
    const isOfCluster = (file: string) => file.startsWith('control-plane/runtimes/kubernetes/');
    const others = ours.filter(
      ({ file, from, target }) =>
        from !== 'control-plane' &&
        from !== 'base' &&
        target !== 'api/wire.ts' &&
        !(isOfCluster(file) && (from === 'kubernetes' || from === 'telemetry')),
    );
    expect(others.map(reported)).toEqual([]);
    expect(ours.some(({ target }) => target === 'api/wire.ts')).toBe(true);
  });

  test('bring nothing of Node into the rooms that only decide', () => {
    const onlyDecide = new Set([
      'actions',
      'engine/plan',
      'engine/status',
      'kinds/declarations.ts',
      'reasons',
      'resources',
      'resources/parts',
    ]);
    const impure = imports.filter(
      ({ file, from }) => onlyDecide.has(roomOf(file)) && from.startsWith('node:'),
    );
    expect(impure.map(reported)).toEqual([]);
  });
});

/** As a literal, in quotes of any kind. */
const actionName = new RegExp(`(['"\`])(?<name>${Object.keys(actions).join('|')})\\1`, 'g');

test('actions are named in actions/ only; the control plane shares no code', () => {
  const found = files
    .filter((file) => !['actions', 'control-plane'].includes(roomOf(file)))
    .flatMap((file) =>
      Array.from((texts.get(file) ?? '').matchAll(actionName), ({ groups }) => `${file} ${groups?.['name']}`),
    );
  expect(found).toEqual([]);
  expect((texts.get('actions/services.ts') ?? '').match(actionName)).toContain("'stop-service'");
});

const kindNames = managedKinds.join('|');
/** In quotes of any kind, as the start of a key, as a member, or as the name of one. Text for people may have it in a sentence. */
const kindLiteral = new RegExp(
  `(['"\`])(?:${kindNames})(?:\\1|/)|(?<!wire)\\.(?:${kindNames})\\b|(?<=[{,(]\\s*)(?:${kindNames}):`,
  'g',
);
const comments = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm;

test('kinds are named in kinds/ only; the control plane shares no code', () => {
  const found = files
    .filter((file) => !['kinds', 'control-plane'].includes(file.split('/')[0] ?? ''))
    .flatMap((file) => {
      const code = (texts.get(file) ?? '').replaceAll(comments, '');
      return Array.from(code.matchAll(kindLiteral), ([literal]) => `${file} ${literal}`);
    });
  // The title of a column.
  expect(found).toEqual(["resources/parts/columns.ts 'Account'"]);
  const samples = ["'Account'", '`Account/${name}`', 'specs.ProtectedTask', '{ ImageRegistry: 1 }'];
  expect(samples.filter((sample) => !sample.match(kindLiteral))).toEqual([]);
});

/** Of a store or a snapshot that may hold a hundred thousand of them. */
const walksAll =
  /\b(?:store|#store|snapshot\.objects)\.(?<walk>records|everyKey|keys|values|entries|forEach)\(/g;
/** Everything is looked at again: after a brake, at the start, for the account of the environment, after a save that failed. */
const mayWalk = new Set([
  'engine/admission/admission.ts',
  'engine/controller.ts',
  'engine/fleet/leaving.ts',
  'engine/fleet/managed-ids.ts',
  // Once, when a thing may be another object's.
  'engine/fleet/mark-holders.ts',
  'engine/fleet/near-index.ts',
  'engine/fleet/members.ts',
  'engine/money/budgets.ts',
  'engine/money/reservations.ts',
  'engine/outcomes/capacity-memory.ts',
  'manager/cluster-objects.ts',
  // What ended after a restart is found by its hash.
  'manager/notices/announcer.ts',
  'manager/notices/trouble-watch.ts',
  'manager/ready-log.ts',
]);

test('no work of the engine walks over all records, or over all objects of a snapshot', () => {
  const found = files
    .filter((file) => ['engine', 'manager', 'kinds'].includes(file.split('/')[0] ?? ''))
    .flatMap((file) =>
      [...(texts.get(file) ?? '').matchAll(walksAll)].map(({ groups }) => `${file} ${groups?.['walk']}`),
    );
  expect(found.filter((walk) => !mayWalk.has(walk.split(' ')[0] ?? '') || walk.endsWith('records'))).toEqual(
    [],
  );
});

/** The status of a record, or of what a store returns. */
const readsStatus =
  /\b(?:record|current|latest|task|service)(?:\([^()]*\))?\??\.status\b|\bstatus\b[^{}\n]*\}: (?:Object)?Record\b/g;
/** They report it: transition times go on, and Events follow from what has changed in it. */
const reports = new Set(['engine/status/build.ts', 'manager/cluster-events.ts', 'manager/ready-log.ts']);

test('a status is output: what a pass or a planner depends on is in the record', () => {
  const found = files
    .filter((file) => ['engine', 'kinds', 'manager', 'jobs', 'activities'].includes(file.split('/')[0] ?? ''))
    .filter((file) => !reports.has(file))
    .flatMap((file) =>
      Array.from((texts.get(file) ?? '').matchAll(readsStatus), ([read]) => `${file}: ${read}`),
    );
  expect(found).toEqual([]);
  expect('store.record(key)?.status'.match(readsStatus)).not.toBeNull();
});

test('docs/internals/architecture.md shows the same table', () => {
  const text = readFileSync(path.join(root, 'docs/internals/architecture.md'), 'utf8');
  const rows = [
    ...text.matchAll(
      /^\| `(?<room>[a-z/-]+(?=\/`)|kinds\/declarations\.ts)\/?`[^|]*\|[^|]*\| (?<cell>[^|]*) \|$/gm,
    ),
  ];
  const shown = rows.map(({ groups }) => [groups?.['room'] ?? '', rowOf(groups?.['cell'] ?? '')] as const);
  expect(shown.map(([room]) => room)).toEqual(rooms);
  for (const [room, row] of shown) {
    const { rooms: named = [], types = [], files: single = [], packages = [] } = table[room] ?? {};
    const expected = { rooms: named, types, files: single, packages };
    expect([room, unordered({ rooms: [], types: [], files: [], packages: [], ...row })]).toEqual([
      room,
      unordered(expected),
    ]);
  }
});

function unordered(row: Row): object {
  return Object.fromEntries(
    Object.entries(row).map(([column, names]) => [
      column,
      typeof names === 'string' ? names : new Set(names),
    ]),
  );
}

/** Reads `base, plan; types of api and state, constants of api/wire.ts; zod`. */
function rowOf(cell: string): Row {
  const everything = 'all of the above';
  const columns = { rooms: [], types: [], files: [], packages: [] } as Record<string, string[]>;
  for (const part of cell.replaceAll('`', '').split('; ')) {
    const typesOnly = part.startsWith('types of ');
    for (const words of part.split(/, | and /)) {
      const name = words.replace(/^types of |^constants of /, '');
      columns[columnOf(name, typesOnly)]?.push(name);
    }
  }
  const named = Object.entries(columns).filter(([, names]) => names.length > 0);
  const row = Object.fromEntries(named.filter(([, [first]]) => first !== 'node only'));
  return row['packages']?.[0] === everything
    ? { ...row, rooms: everything, packages: row['packages'].slice(1) }
    : row;
}

function columnOf(name: string, typesOnly: boolean): string {
  if (rooms.includes(name)) return typesOnly ? 'types' : 'rooms';
  if (name.includes('/') && !name.startsWith('@')) return 'files';
  return typesOnly ? 'types' : 'packages';
}

test('no file of src/ is longer than 400 lines', () => {
  const long = [...texts].map(([file, text]) => ({ file, lines: text.split('\n').length - 1 }));
  expect(long.filter(({ lines }) => lines > 400)).toEqual([]);
});
