import { inspect } from 'node:util';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatProblem, parseFile, readYaml, type DesiredObject } from '../../../src/desired/index.ts';
import { configMap, documents, secret, service, volume } from './documents.ts';

const reported = (text: string | Buffer) => parseFile('fleet/web.yaml', text).problems.map(formatProblem);
const item = (text: string) => `- ${text.trimEnd().replaceAll('\n', '\n  ')}\n`;
const entry = (text: string) => service('web', `  env:\n    - ${text}\n`);
const kinds = (text: string | Buffer) =>
  parseFile('web.yaml', text).documents.map((document) => `${document.is} ${document.id}`);
function objectOf(text: string): DesiredObject {
  const [document] = parseFile('web.yaml', text).documents;
  if (document?.is !== 'object') throw new Error('no object');
  return document.object;
}

test('a number that is too large in two ways is one problem', () => {
  const text = [
    'apiVersion: fleetkeeper.dev/v1alpha1',
    'kind: Budget',
    'metadata: {name: team}',
    'spec: {namespace: true, limits: {hourlyMicros: 9007199254740992}}',
  ].join('\n');
  expect(reported(text)).toEqual([
    'fleet/web.yaml:4: spec.limits.hourlyMicros: must be at most 9007199254740991, and is 9007199254740992; write a number that is at most 9007199254740991',
  ]);
});

describe('what is read', () => {
  test('a file may hold many documents, and the namespace is `default` unless it is given', () => {
    const text = documents(
      service('web'),
      volume('data').replace('{name: data}', '{name: data, namespace: lab}'),
      secret('s', 'token', 'x'),
      configMap('c', 'mode', 'y'),
    );
    expect(kinds(text)).toEqual([
      'object ContainerService/default/web',
      'object StorageVolume/lab/data',
      'data Secret/default/s',
      'data ConfigMap/default/c',
    ]);
    expect(parseFile('web.yaml', text)).toMatchObject({ complete: true, problems: [], documentCount: 4 });
  });

  test('JSON is read, also with tabs and a byte order mark', () => {
    const json = JSON.stringify(
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' }, data: { a: 'b' } },
      null,
      '\t',
    );
    expect(kinds(Buffer.from(`\uFEFF${json}`))).toEqual(['data ConfigMap/default/c']);
  });

  test.each([
    ['behind the line between two documents', '---\n\uFEFF'],
    ['before it', '\uFEFF---\n'],
    ['before a comment', '---\n\uFEFF# of another file\n'],
    ['behind a comment, with line ends of Windows', '---\r\n# of another file\r\n\uFEFF'],
  ])('files with byte order marks may be joined: one %s is not read', (_, between) => {
    const text = `${service('web')}${between}${service('api', '  imgae: x\n')}`;
    expect(kinds(text)).toEqual([
      'object ContainerService/default/web',
      'unusable ContainerService/default/api',
    ]);
    const line = text.slice(0, text.indexOf('imgae')).split('\n').length;
    expect(reported(text)).toEqual([
      `fleet/web.yaml:${line}: spec.imgae: unknown field \`imgae\`; did you mean \`image\`?`,
    ]);
  });

  test('a byte order mark within a value is part of it', () => {
    const text =
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  a: |\n    x\n    \uFEFFy\n  b: "\uFEFFz"\n';
    const [document] = parseFile('c.yaml', text).documents;
    expect(document).toMatchObject({ is: 'data', id: 'ConfigMap/default/c' });
    expect(JSON.stringify(readYaml(text).documents[0]?.value)).toContain(
      '"a":"x\\n\uFEFFy\\n","b":"\uFEFFz"',
    );
  });

  test('defaults are filled in', () => {
    expect(objectOf(service('web')).spec).toMatchObject({
      desiredState: 'Running',
      accountRef: { name: 'default' },
    });
  });

  test('a List is its items, each with its own lines', () => {
    const text = `apiVersion: v1\nkind: List\nitems:\n${item(service('a'))}${item(service('b', '  imgae: x\n'))}`;
    expect(kinds(text)).toEqual(['object ContainerService/default/a', 'unusable ContainerService/default/b']);
    expect(reported(text)).toEqual([
      'fleet/web.yaml:20: items[1].spec.imgae: unknown field `imgae`; did you mean `image`?',
    ]);
  });

  test('documents without content are nothing', () => {
    expect(parseFile('web.yaml', '# a comment\n---\n---\n# another\n---\nnull\n')).toMatchObject({
      documents: [],
      problems: [],
      complete: true,
      documentCount: 0,
    });
  });

  test('anchors and merge keys work within a document; what is written wins over what is merged', () => {
    const text = service('web', `  env:\n    - &base {name: A, value: one}\n    - {<<: *base, name: B}\n`);
    expect(objectOf(text).spec).toMatchObject({
      env: [
        { name: 'A', value: 'one' },
        { name: 'B', value: 'one' },
      ],
    });
  });

  test('a field is located, or else the nearest that encloses it', () => {
    const object = objectOf(
      `# first\n${service('web', '  env:\n    - {name: A, value: x}\n    - name: B\n')}`,
    );
    expect(object.location).toEqual({ file: 'web.yaml', line: 2 });
    expect(object.document.locate(['spec', 'image']).line).toBe(8);
    expect(object.document.locate(['spec', 'env', 1, 'value']).line).toBe(12);
    expect(object.document.locate(['spec', 'storage', 'volumeGb']).line).toBe(6);
  });

  test('a Secret is read from base64 and from plain text, plain text first', () => {
    const text = `apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: aGk=, b: aGk=}\nstringData: {b: plain}\n`;
    const [document] = parseFile('s.yaml', text).documents;
    const data = document?.is === 'data' ? document.data : undefined;
    expect([...(data ?? [])].map(([key, value]) => [key, value.reveal()])).toEqual([
      ['a', 'hi'],
      ['b', 'plain'],
    ]);
  });
});

describe('what is wrong is told with its place and a remedy', () => {
  const fleet = (...lines: string[]) =>
    [
      'apiVersion: fleetkeeper.dev/v1alpha1',
      'kind: ServiceFleet',
      'metadata: {name: llm}',
      'spec:',
      '  template: {spec: {region: a, image: "a:1", resources: {cpu: 1, memoryGb: 1}}}',
      ...lines,
      '',
    ].join('\n');
  const stepText = 'needs exactly one of replicas, weight, pause and analysis';

  test.each([
    ['replcas: 1', ['unknown field `replcas`; did you mean `replicas`?']],
    ['foo: 1', ['unknown field `foo`; remove it']],
    ['replcas: 1, weight: 5', ['unknown field `replcas`']],
    ['replicas: 1, weight: 5', [stepText]],
    ['pause: {secs: 3}', ['unknown field `secs`']],
  ])('one mistake in a step of a rollout is one problem: %s', (text, expected) => {
    const found = reported(fleet(`  update: {steps: [{${text}}]}`));
    expect(found).toEqual(expected.map((part) => expect.stringContaining(part)));
  });

  test('two mistakes are two, also where one is a misspelt name', () => {
    const found = reported(fleet('  update: {maxSurge: 0, steps: [{replcas: 1}, {}]}'));
    expect(found).toEqual([
      expect.stringContaining('unknown field `replcas`'),
      expect.stringContaining(stepText),
      expect.stringContaining('maxSurge and maxUnavailable are both 0'),
    ]);
  });

  test('a rule that a misspelt name breaks is not reported beside it', () => {
    const text = fleet('  placment: {candidates: []}').replace('region: a, ', '');
    expect(reported(text)).toEqual([expect.stringContaining('did you mean `placement`?')]);
  });

  test.each([
    ['an unknown field', '  imgae: x', '9: spec.imgae: unknown field `imgae`; did you mean `image`?'],
    [
      'a wrong type',
      '  httpPort: "80"',
      '9: spec.httpPort: expected a number, found a text; write `80` without quotes',
    ],
    [
      'a number for a text',
      '  restartToken: 1',
      '9: spec.restartToken: expected a text, found a number; put it in quotes',
    ],
    [
      'a word that is none',
      '  desiredState: On',
      '9: spec.desiredState: must be one of Running, Stopped; write one of them',
    ],
    [
      'out of bounds',
      '  httpPort: 70000',
      '9: spec.httpPort: must be at most 65535, and is 70000; write a number that is at most 65535',
    ],
    [
      'minutes with a unit',
      '  sleepAfterMinutes: 30m',
      '9: spec.sleepAfterMinutes: expected a number, found a text; it is in minutes, without a unit: write `sleepAfterMinutes: 30`',
    ],
    [
      'hours for minutes',
      '  sleepAfterMinutes: 2h',
      '9: spec.sleepAfterMinutes: expected a number, found a text; it is in minutes, without a unit: write `sleepAfterMinutes: 120`',
    ],
    [
      'seconds with a unit',
      '  readiness: {path: /, periodSeconds: 1m}',
      '9: spec.readiness.periodSeconds: expected a number, found a text; it is in seconds, without a unit: write `periodSeconds: 60`',
    ],
    [
      'a unit of a port',
      '  httpPort: 80k',
      '9: spec.httpPort: expected a number, found a text; write a number without a unit',
    ],
    [
      'deep inside',
      '  env:\n    - {name: A}\n    - {nmae: B}',
      '11: spec.env[1].nmae: unknown field `nmae`; did you mean `name`?',
    ],
    ['written twice', '  image: x', '9: spec.image: is written twice in one map; keep one of them'],
    [
      'a home-made tag',
      '  command: [!env X]',
      '9: a tag (`!name`) that fleetkeeper does not know; remove it, or quote the text',
    ],
    [
      'a name that is not allowed',
      '  __proto__: {image: x}',
      '9: spec.__proto__: this name is not allowed; choose another one',
    ],
  ])('%s', (_what, more, expected) => {
    const text = service('web', `${more}\n`);
    expect(reported(text)).toContain(`fleet/web.yaml:${expected}`);
    expect(kinds(text)).toEqual(['unusable ContainerService/default/web']);
    expect(parseFile('web.yaml', text).complete).toBe(true);
  });

  test('a missing field is told where it should be', () => {
    expect(reported(service('web').replace(/ {2}image.*\n/, ''))).toEqual([
      'fleet/web.yaml:5: spec.image: is missing; add it (a text), or a `templateRef` whose template gives it',
    ]);
  });

  test('a scheme before an image is told', () => {
    const text = service('web').replace(/image: .*/, 'image: https://ghcr.io/acme/web:1');
    expect(reported(text)).toEqual([
      'fleet/web.yaml:7: spec.image: has a scheme, which an image reference has not; write it without, such as ghcr.io/acme/app:1.4',
    ]);
  });

  test('a second document without a line between is told once, and which objects there are stays open', () => {
    const text = service('web') + service('web-2');
    const line = service('web').split('\n').length;
    expect(reported(text)).toEqual([
      `fleet/web.yaml:${line + 1}: kind: is written twice in one map; put a line \`---\` above line ${line} if another document begins there; else keep one of them`,
    ]);
    expect(parseFile('web.yaml', text).complete).toBe(false);
  });

  test('metadata that is written twice is told, and no good name is called bad', () => {
    expect(reported(`${service('web')}metadata: {name: other}\n`)).toEqual([
      'fleet/web.yaml:9: metadata: is written twice in one map; keep one of them',
    ]);
  });

  test('a tab for indentation is told with its line', () => {
    expect(reported('a:\n\tb: 1\n')[0]).toBe(
      'fleet/web.yaml:2: not valid YAML: a tab is used for indentation; indent with spaces',
    );
  });

  test('a problem is one printable line, whatever the document says', () => {
    const text = 'apiVersion: "a\\e[31mb"\nkind: "x\\ny"\nmetadata: {name: n}\n';
    expect(reported(text)[0]).toMatch(/^fleet\/web.yaml:2: kind: a\?\[31mb x\?y is not a kind/);
  });

  test('the number of problems that are told is bounded', () => {
    const many = Array.from({ length: 1000 }, (_, index) => `  x${index}: 1\n`).join('');
    expect(reported(service('web', many)).length).toBeLessThan(30);
    expect(reported('--- a\n'.repeat(300)).length).toBeLessThan(250);
  });
});

describe('which document it is', () => {
  test.each([
    [
      'a Deployment is not ours',
      'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n',
      true,
      'not a kind that fleetkeeper reads',
    ],
    [
      'a misspelt kind may be any of ours',
      service('x').replace('ContainerService', 'ContainerServce'),
      false,
      'did you mean `ContainerService`?',
    ],
    ['a document without a kind', 'metadata: {name: x}\n', false, 'kind: is missing'],
    [
      'a document without a name',
      service('x').replace('name: x', 'labels: {}'),
      false,
      'metadata.name: is missing',
    ],
    ['a name that cannot be one', service('a/b'), false, 'metadata.name: is not a name that can be used'],
    ['a name given twice', service('x\n  name: y'), false, 'metadata.name: is written twice'],
    ['a text', 'hello\n', false, 'must be a map'],
  ])('%s', (_what, text, complete, message) => {
    const file = parseFile('web.yaml', text);
    expect(file.documents).toEqual([]);
    expect(file.complete).toBe(complete);
    expect(file.documentCount).toBe(1);
    expect(file.problems.map(formatProblem).join('\n')).toContain(message);
  });

  test('one of our kinds in a version that is not read is left alone', () => {
    const text = service('web').replace('v1alpha1', 'v9');
    expect(kinds(text)).toEqual(['unusable ContainerService/default/web']);
    expect(reported(text)[0]).toContain('apiVersion: is not a version that fleetkeeper reads');
  });

  test('one broken document leaves the others usable, and the file incomplete', () => {
    const text = documents(service('a'), service('b', '  command: [x\n'), service('c'));
    expect(kinds(text)).toEqual([
      'object ContainerService/default/a',
      'unusable ContainerService/default/b',
      'object ContainerService/default/c',
    ]);
    expect(parseFile('web.yaml', text).complete).toBe(false);
  });

  test('a quote that is not closed swallows what follows, so nothing is concluded from absence', () => {
    const file = parseFile('web.yaml', documents(service('a', '  restartToken: "x\n'), service('b')));
    expect(file.complete).toBe(false);
    expect(file.documents.map((document) => document.is)).toEqual(['unusable']);
  });

  test('an invalid Secret is absent, and told', () => {
    const text = 'apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  port: 5\n';
    expect(parseFile('s.yaml', text)).toMatchObject({
      complete: true,
      documents: [{ is: 'data', data: undefined }],
    });
    expect(reported(text)).toEqual([
      'fleet/web.yaml:5: stringData.port: must be a string; quote numbers and booleans',
    ]);
  });
});

describe('a hostile file', () => {
  const bomb = `a: &a [${'x,'.repeat(10)}]\n${['b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']
    .map((letter, index) => `${letter}: &${letter} [${`*${'abcdefgh'[index]},`.repeat(10)}]\n`)
    .join('')}`;

  test.each([
    [
      'an alias bomb',
      service('web', `  env: []\nstatus:\n${bomb.replaceAll(/^/gm, '  ')}`),
      'repeats too much',
    ],
    ['an alias to itself', service('web', 'status: &s {again: *s}\n'), 'refers to itself'],
    ['more than 64 levels', `status: ${'['.repeat(65)}`, 'nested deeper than 64 levels'],
    ['a megabyte of brackets', '['.repeat(1024 * 1024), 'nested deeper than 64 levels'],
    ['a megabyte of dashes', '- '.repeat(512 * 1024), 'nested deeper than 64 levels'],
    ['a megabyte of errors', '{}'.repeat(512 * 1024), 'not valid YAML in very many places'],
    ['a megabyte of directives', '%a\n'.repeat(340 * 1024), 'not valid YAML in very many places'],
    ['more than a megabyte', `# ${'x'.repeat(1024 * 1024)}`, 'larger than 1 MiB'],
    ['too many documents', '--- a\n'.repeat(10_001), 'more than 10000 documents'],
    ['bytes that are not UTF-8', Buffer.from([0x61, 0x3a, 0x20, 0xff, 0xfe]), 'not UTF-8'],
  ])('with %s is refused', (_what, text, message) => {
    const file = parseFile('web.yaml', text);
    expect(file.problems.map(formatProblem).join('\n')).toContain(message);
    expect(file.documents.every((document) => document.is === 'unusable')).toBe(true);
  });

  test('64 levels are fine', () => {
    const text = service('web', `status: ${'['.repeat(62)}${']'.repeat(62)}\n`);
    expect(kinds(text)).toEqual(['object ContainerService/default/web']);
  });

  test('`__proto__` and `constructor` are names like others, or refused, and change nothing else', () => {
    const text = service('web').replace(
      '  name: web',
      '  name: web\n  labels: {constructor: a, toString: b}\n  annotations: {__proto__: x}',
    );
    expect(reported(text)).toEqual([
      'fleet/web.yaml:6: metadata.annotations: this name is not allowed; choose another one',
    ]);
    expect(objectOf(text.replace('{__proto__: x}', '{}')).labels).toEqual({
      constructor: 'a',
      toString: 'b',
    });
    expect(({} as Record<string, unknown>)['x']).toBeUndefined();
  });

  test('no text whatever makes the reader throw', () => {
    const pieces = [
      'kind: ',
      'List',
      'Secret\n',
      'v1\n',
      'apiVersion: ',
      '- ',
      '[',
      '}',
      '"',
      "'",
      '\n',
      '  ',
      '---\n',
      '&a ',
      '*a',
      '<<: ',
      '|\n',
      '\t',
      '%',
      '? ',
      ': ',
      '!!',
      'null',
      '#',
    ];
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.constantFrom(...pieces), fc.string({ maxLength: 5 })), { maxLength: 40 }),
        (parts) => {
          expect(parseFile('x.yaml', parts.join('')).file).toBe('x.yaml');
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('a secret is never told', () => {
  const canary = 'canaryCANARY';

  test.each([
    ['a value of a wrong type', entry(`{name: A, value: [${canary}]}`)],
    ['a value with a comma that is not quoted', entry(`{name: A, value: x,${canary}}`)],
    ['a value with a comma and a colon', entry(`{name: A, value: x, ${canary}: y}`)],
    ['the same part of a value twice', entry(`{name: A, value: x, ${canary}, ${canary}}`)],
    ['a map for a value', entry(`{name: A, value: {${canary}: }}`)],
    ['a value that is no YAML', entry(`{name: A, value: @${canary}}`)],
    ['a value with an unknown tag', entry(`{name: A, value: !${canary} x}`)],
    ['a value with a star', entry(`{name: A, value: *${canary}}`)],
    ['an unknown escape', entry(`{name: A, value: "\\q${canary}"}`)],
    ['text after a quote', entry(`{name: A, value: "x"${canary}}`)],
    ['base64 that is none', `apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: "${canary}!"}\n`],
    [
      'a Secret with a comma',
      `apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: x,${canary}}\n`,
    ],
    ['a Secret with a list', `apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: [${canary}]\n`],
    [
      'a broken Secret',
      `apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  a: b: ${canary}\n   c: ${canary}\n`,
    ],
    [
      'a credential in an address',
      `apiVersion: fleetkeeper.dev/v1alpha1\nkind: Account\nmetadata: {name: a}\nspec: {url: "https://u:${canary}@x"}\n`,
    ],
    ['a wrong enum', service('web', `  desiredState: ${canary}\n`)],
  ])('%s', (_what, text) => {
    const file = parseFile('web.yaml', text);
    expect(file.problems).not.toEqual([]);
    expect(inspect(file.problems, { depth: 9 })).not.toContain(canary);
    expect(inspect(file, { depth: 9 })).not.toContain(canary);
  });
});
