import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseFile, setSpecField, type EditedText } from '../../../src/desired/index.ts';
import { readYaml } from '../../../src/desired/yaml.ts';
import { objectKey } from '../../../src/resources/index.ts';
import { seed } from '../../support/seed.ts';

const key = objectKey('ContainerService', 'default', 'web');
const head = 'apiVersion: fleetkeeper.dev/v1alpha1\nkind: ContainerService\n';

function edit(text: string, value = 'Stopped', field: 'desiredState' | 'restartToken' = 'desiredState') {
  const read = parseFile('web.yaml', text).documents.find(({ id }) => id === key);
  if (read?.is !== 'object') throw new Error('no object');
  const { [field]: known } = read.object.spec as Partial<Record<typeof field, string>>;
  return setSpecField(text, { key, field, value, known });
}

function edited(text: string, value?: string, field?: 'desiredState' | 'restartToken'): string {
  const result = edit(text, value, field);
  if (result.kind === 'refused') throw new Error(result.why);
  return result.text;
}

const spec = (lines: string) => `${head}metadata: {name: web}\nspec:\n${lines}`;
const least = '  region: standard\n  image: a\n  resources: {cpu: 1, memoryGb: 1}\n';

describe('one field of a document', () => {
  test.each([
    ['desiredState: Running', 'desiredState: Stopped'],
    ['desiredState: "Running"   # for now', 'desiredState: "Stopped"   # for now'],
    ["desiredState: 'Running'", "desiredState: 'Stopped'"],
    ['"desiredState": Running', '"desiredState": Stopped'],
    ['desiredState:   Running', 'desiredState:   Stopped'],
    ['desiredState:\n    Running', 'desiredState:\n    Stopped'],
  ])('is replaced in its own style: %j', (before, after) => {
    const around = (line: string) => `# top\n---\n${spec(`${least}  # power\n  ${line}\n  httpPort: 80\n`)}`;
    expect(edited(around(before))).toBe(around(after));
  });

  test('is set behind a byte order mark of a joined file, and refused behind one before a `---`', () => {
    const joined = (between: string) => `${spec(least).replace('web', 'other')}${between}${spec(least)}`;
    expect(edited(joined('---\n\uFEFF'))).toBe(`${joined('---\n\uFEFF')}  desiredState: Stopped\n`);
    expect(edit(joined('\uFEFF---\n'))).toEqual({
      kind: 'refused',
      line: 8,
      why: 'has a byte order mark (U+FEFF) before a `---` of its file',
    });
  });

  test('is added behind the last one, and behind what belongs to that', () => {
    const before = `${least}  env:\n    - name: A # one\n      value: |\n        x\n    # - name: B\n  # the end\n`;
    expect(edited(spec(before))).toBe(
      spec(before.replace('  # the end\n', '  desiredState: Stopped\n  # the end\n')),
    );
  });

  test('is quoted when it could be taken for something else than a text', () => {
    expect(edited(spec(least), '2030-01-31T06:00:00.000Z', 'restartToken')).toBe(
      spec(`${least}  restartToken: "2030-01-31T06:00:00.000Z"\n`),
    );
  });

  test('is added to a text that does not end with a line break, or ends lines with CR and LF', () => {
    expect(edited(spec(least.trimEnd()))).toBe(spec(`${least}  desiredState: Stopped`));
    const windows = (text: string) => text.replaceAll('\n', '\r\n');
    expect(edited(windows(spec(least)))).toBe(windows(spec(`${least}  desiredState: Stopped\n`)));
  });

  test.each([
    [
      '{"kind":"ContainerService","spec":{"region":"standard","image":"a","resources":{"cpu":1,"memoryGb":1}}}',
    ],
    [
      '{"kind":"ContainerService","spec":{"desiredState":"Running","region":"standard","image":"a","resources":{"cpu":1,"memoryGb":1}}}',
    ],
  ])('is written into JSON as JSON: %s', (compact) => {
    const value = {
      apiVersion: 'fleetkeeper.dev/v1alpha1',
      metadata: { name: 'web' },
      ...JSON.parse(compact),
    };
    for (const gap of [undefined, 2]) {
      const after: unknown = JSON.parse(edited(JSON.stringify(value, null, gap)));
      expect(after).toEqual({ ...value, spec: { ...value.spec, desiredState: 'Stopped' } });
    }
    const lines = edited(JSON.stringify(value, null, 2)).split('\n');
    expect(lines.find((line) => line.includes('desiredState'))).toMatch(/^ {4}"desiredState": "Stopped",?$/);
  });

  test('is that of the document with this name and namespace, whatever else the file has', () => {
    const other = (name: string) => spec(least).replace('{name: web}', name);
    const before = [
      other('{name: api}'),
      other('{name: web, namespace: lab}'),
      spec(least),
      other('{name: z}'),
    ];
    const after = before.with(2, spec(`${least}  desiredState: Stopped\n`));
    expect(edited(before.join('---\n'))).toBe(after.join('---\n'));
  });

  test('shows its line before and after, but not the other fields of a line', () => {
    expect(edit(spec(`${least}  desiredState: Running # x\n`))).toMatchObject({
      line: 8,
      before: '  desiredState: Running # x',
      after: '  desiredState: Stopped # x',
    });
    const flow = `${head}metadata: {name: web}\nspec: {region: standard, image: secret, resources: {cpu: 1, memoryGb: 1}}\n`;
    expect(edit(flow)).toMatchObject({ line: 4, before: undefined, after: '  … desiredState: Stopped …' });
  });
});

describe('a document is left alone', () => {
  const item = spec(least).replaceAll('\n', '\n    ').trimEnd();
  test.each([
    ['an item of a List', `apiVersion: v1\nkind: List\nitems:\n  - ${item}\n`, 'item of a `List`'],
    [
      'its spec is used elsewhere',
      `${head}metadata: {name: web}\nspec: &a\n${least}status: *a\n`,
      '`&anchor`',
    ],
    ['its spec is an alias', `${head}metadata: {name: web}\nstatus: &a\n${least}spec: *a\n`, 'from an alias'],
    ['its value has an anchor', spec(`${least}  desiredState: &d Running\n  serviceName: *d\n`), '`&d`'],
    ['its value is an alias', spec(`${least}  restartToken: &d Running\n  desiredState: *d\n`), '`*d`'],
    ['its value has a tag', spec(`${least}  desiredState: !!str Running\n`), 'a tag'],
    ['its value is a block of text', spec(`${least}  desiredState: |-\n    Running\n`), 'block of text'],
    ['its value is merged into it', spec(`  <<: {desiredState: Running}\n${least}`), 'merged into it'],
  ])('if %s', (_, text, why) => {
    expect(edit(text)).toEqual({
      kind: 'refused',
      line: expect.any(Number),
      why: expect.stringContaining(why),
    });
  });

  test('unless an anchor in it is used by nobody else', () => {
    const before = `${head}metadata: {name: web}\nspec: &a\n${least}`;
    expect(edited(before)).toBe(`${before}  desiredState: Stopped\n`);
  });

  test('if the value in the object is not the one in its text', () => {
    const result = setSpecField(spec(`${least}  desiredState: $STATE\n`), {
      key,
      field: 'desiredState',
      value: 'Stopped',
      known: 'Running',
    });
    expect(result).toMatchObject({
      kind: 'refused',
      line: 8,
      why: expect.stringContaining('made from something else'),
    });
  });
});

// ---- any document ---------------------------------------------------------------------------------------

const comment = fc.constantFrom('', '', '  # note', '  # a: b');
const blank = fc.constantFrom('', '', '\n', '  # between\n', '    # deeper\n', '# shallow\n');
const plain = fc.constantFrom('a', 'ghcr.io/acme/web:1', "it's", 'x y', '12', 'true', '# no comment', 'ä: ö');
const text = fc
  .tuple(plain, fc.constantFrom('single', 'double'))
  .map(([value, quotes]) =>
    quotes === 'single' ? `'${value.replaceAll("'", "''")}'` : JSON.stringify(value),
  );
const list = fc.array(text, { minLength: 1, maxLength: 3 });
const field = fc.oneof(
  fc
    .tuple(fc.constantFrom('region', 'image', 'serviceName'), text, comment)
    .map(([name, value, note]) => [name, ` ${value}${note}\n`] as const),
  fc.tuple(list, fc.boolean(), comment).map(([items, isFlow, note]) => {
    const block = items.map((item) => `    - ${item}${note}\n`).join('');
    return ['command', isFlow ? ` [${items.join(', ')}]${note}\n` : `${note}\n${block}`] as const;
  }),
  fc
    .tuple(fc.constantFrom('|', '|-', '|+', '>'), blank)
    .map(
      ([style, after]) =>
        ['description', ` ${style}\n    one\n      two # text\n\n    three\n${after}`] as const,
    ),
  fc.constant(['empty', '\n'] as const),
  fc
    .tuple(fc.constantFrom('desiredState', 'restartToken'), text, comment)
    .map(([name, value, note]) => [name, ` ${value}${note}\n`] as const),
);
const block = fc
  .uniqueArray(fc.tuple(field, blank), { minLength: 1, maxLength: 6, selector: ([[name]]) => name })
  .map((fields) => fields.map(([[name, rest], between]) => `  ${name}:${rest}${between}`).join(''));
const flow = fc
  .uniqueArray(fc.tuple(fc.constantFrom('region', 'image', 'desiredState', 'command'), text), {
    minLength: 1,
    selector: ([name]) => name,
  })
  .chain((fields) =>
    fc
      .constantFrom(', ', ',\n    ', ', # flow\n    ')
      .map((gap) => `  {${fields.map(([name, value]) => `${name}: ${value}`).join(gap)}}\n`),
  );
const document = (name: string) =>
  fc
    .tuple(fc.oneof({ weight: 4, arbitrary: block }, flow), blank, comment)
    .map(
      ([lines, between, note]) =>
        `${between}kind: ContainerService${note}\nmetadata:\n  name: ${name}\nspec:${note}\n${lines}status: {}\n`,
    );
const ending = fc.constantFrom('\n', '\r\n');
const files = fc
  .tuple(document('a'), document('web'), document('z'), ending, fc.boolean())
  .map(([first, second, third, newline, isCut]) => {
    const all = [first, second, third].join('---\n').replaceAll('\n', newline);
    return isCut ? all.trimEnd() : all;
  });

interface Spec {
  readonly spec: Record<string, unknown>;
}

test(`after any edit, all other values are equal, and all other lines are as they were (seed ${seed})`, () => {
  const outcomes = new Map<string, number>();
  fc.assert(
    fc.property(files, fc.constantFrom('desiredState', 'restartToken'), plain, (before, name, value) => {
      const read = readYaml(before).documents.map((each) => each.value as Spec);
      fc.pre(read.length === 3);
      const known = read[1]?.spec[name] as string | undefined;
      const result = setSpecField(before, { key, field: name, value, known });
      outcomes.set(result.kind, (outcomes.get(result.kind) ?? 0) + 1);
      if (result.kind === 'refused') return;
      const now = readYaml(result.text).documents.map((each) => each.value as Spec);
      expect(now).toEqual(read.with(1, { ...read[1], spec: { ...read[1]?.spec, [name]: value } }));
      expectOneChange(before, result, known !== undefined);
    }),
    { seed, numRuns: 500 },
  );
  expect(outcomes.get('edited')).toBeGreaterThan(400);
});

/** One line was replaced or added, and no comment is lost. In a map on one line, the field is in it. */
function expectOneChange(before: string, { text: after, line }: EditedText, replaces: boolean): void {
  const [old, now] = [before.split('\n'), after.split('\n')];
  const isAdded = now.length > old.length;
  expect([old.length + (isAdded ? 1 : 0), isAdded && replaces]).toEqual([now.length, false]);
  // The line before an added one may get a comma, lose the bracket at its end, or get the line break that it did not have.
  const isSame = (each: string, index: number) =>
    [each, each.replace(/,$/, ''), each.replace(/,$/, '}')].includes(old[index]?.trimEnd() ?? '');
  const kept = isAdded ? now.toSpliced(line - 1, 1) : now;
  const changed = kept.flatMap((each, index) => (isSame(each.trimEnd(), index) ? [] : [index + 1]));
  expect(changed).toEqual(isAdded || changed.length === 0 ? [] : [line]);
  expect(commentsIn(after)).toEqual(commentsIn(before));
}

function commentsIn(from: string): string[] {
  return from.split('\n').flatMap((each) => /\s*# (?!text|no)\w.*$/.exec(each)?.[0].trim() ?? []);
}
