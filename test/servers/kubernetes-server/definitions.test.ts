import { describe, expect, test } from 'vitest';
import type { Schema } from '../../support/kubernetes/schema/schema.ts';
import {
  definition,
  definitions,
  eventually,
  startServer,
  startWithWidgets,
  widget,
  widgets,
  type Answered,
} from './support.ts';

const text = { type: 'string' } as const;
const object = (properties: Readonly<Record<string, Schema>>, rest: object = {}): Schema => ({
  type: 'object',
  properties,
  ...rest,
});

/** What is wrong, field by field. */
function causes({ details }: Answered): readonly string[] {
  return (details.causes ?? []).map(({ field, message }) => `${field}: ${message}`);
}

/** What the server says to a Widget with this spec. */
async function refusals(schema: Schema, spec: object): Promise<readonly string[]> {
  const client = await startWithWidgets(schema);
  const { status, body } = await client.post(widgets, widget('one', spec));
  return status === 422 ? causes(body) : [];
}

describe('a definition', () => {
  test('is established at once, and its kind is served and discovered', async () => {
    const client = await startWithWidgets(object({}));
    const { body } = await client.get(`${definitions}/widgets.example.dev`);
    expect(body.status).toMatchObject({
      acceptedNames: { singular: 'widget', listKind: 'WidgetList' },
      storedVersions: ['v1'],
      conditions: [{ type: 'NamesAccepted' }, { type: 'Established', status: 'True' }],
    });
    expect(await (await fetch(`${client.server.url}/apis/example.dev/v1`)).json()).toMatchObject({
      resources: [{ name: 'widgets' }, { name: 'widgets/status' }],
    });
    expect((await client.get(widgets)).body.kind).toBe('WidgetList');
  });

  test.each<[string, Schema, string]>([
    ['a field has no type', object({ a: {} }), 'type: Required value: must not be empty'],
    [
      'additional properties are forbidden',
      object({ a: { type: 'object', additionalProperties: false } }),
      'additionalProperties cannot be set to false',
    ],
    [
      'properties stand beside additional ones',
      object({ a: object({}, { additionalProperties: text }) }),
      'mutual exclusive',
    ],
    [
      'a default breaks its own schema',
      object({ a: { type: 'integer', default: 'x' } }),
      'must be of type integer',
    ],
    [
      'a rule that judges a default needs what its fields have as defaults',
      object({
        a: object(
          { b: { type: 'integer', default: 1 } },
          { default: {}, 'x-kubernetes-validations': [{ rule: 'self.b > 0', message: 'too small' }] },
        ),
      }),
      'default: Invalid value',
    ],
    [
      'a default has unknown fields',
      object({ a: object({}, { default: { x: 1 } }) }),
      'must not have unknown fields',
    ],
    ['a list has no items', object({ a: { type: 'array' } }), 'items: Required value'],
    [
      'a list of type map has no keys',
      object({ a: { type: 'array', items: object({}), 'x-kubernetes-list-type': 'map' } }),
      'must not be empty if x-kubernetes-list-type is map',
    ],
    [
      'a key of a list may be missing',
      object({
        a: {
          type: 'array',
          items: object({ k: text }),
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['k'],
        },
      }),
      'it must have a default or be a required property',
    ],
    ['a combination has a type', object({ a: { ...text, anyOf: [text] } }), 'must be empty to be structural'],
    [
      'a pattern is no regular expression',
      object({ a: { ...text, pattern: '(' } }),
      'must be a valid regular expression',
    ],
    [
      'a rule names a field that is not there',
      object({ a: text }, { 'x-kubernetes-validations': [{ rule: 'self.b == "x"' }] }),
      'compilation failed: No such key: b',
    ],
    [
      'a rule asks whether it has a field that can never be there',
      object({ a: text }, { 'x-kubernetes-validations': [{ rule: '!has(self.b)' }] }),
      'compilation failed: No such key: b',
    ],
    [
      'a rule is no yes or no',
      object({ a: text }, { 'x-kubernetes-validations': [{ rule: 'self.a' }] }),
      'must evaluate to a bool',
    ],
    [
      'a rule asks for the old value in a list without keys',
      object({
        a: { type: 'array', items: { ...text, 'x-kubernetes-validations': [{ rule: 'self == oldSelf' }] } },
      }),
      'uncorrelatable',
    ],
  ])('is refused when %s', async (_when, schema, why) => {
    const client = await startServer();
    const { status, body } = await client.post(definitions, definition(schema));
    expect(status).toBe(422);
    expect(body.message).toContain(why);
  });

  test('may select only by fields that are scalars', async () => {
    const client = await startServer();
    const select = (jsonPath: string) =>
      client.post(
        definitions,
        definition(object({ a: text, b: object({}) }), { selectableFields: [{ jsonPath }] }),
      );
    expect((await select('.spec.b')).status).toBe(422);
    expect((await select('.spec.none')).status).toBe(422);
    expect((await select('.spec.a')).status).toBe(201);
    await client.post(widgets, widget('one', { a: 'x' }));
    const found = await client.get(`${widgets}?fieldSelector=spec.a=x`);
    expect(found.body.items).toHaveLength(1);
    expect((await client.get(`${widgets}?fieldSelector=spec.a=y`)).body.items).toHaveLength(0);
  });

  test('that is deleted takes its objects along', async () => {
    const client = await startWithWidgets(object({}));
    await client.post(widgets, widget('one', {}, { finalizers: ['example.dev/a'] }));
    await client.delete(`${definitions}/widgets.example.dev`);
    await eventually(
      async () => (await client.get(`${widgets}/one`)).body.metadata.deletionTimestamp !== undefined,
    );
    await client.patch(`${widgets}/one`, 'merge', { metadata: { finalizers: [] } });
    await eventually(async () => (await client.get(widgets)).status === 404);
  });
});

describe('a custom resource', () => {
  test('loses unknown fields, with a warning or, on strict terms, an error', async () => {
    const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } as const;
    const client = await startWithWidgets(object({ a: text, open }));
    const spec = { a: 'x', b: { c: 1 }, open: { d: 1 } };
    const warned = await client.post(widgets, widget('one', spec));
    expect(warned.body.spec).toEqual({ a: 'x', open: { d: 1 } });
    expect(warned.headers.get('warning')).toBe('299 - "unknown field \\"spec.b\\""');
    const strict = await client.post(`${widgets}?fieldValidation=Strict`, widget('two', spec));
    expect(strict.status).toBe(400);
    expect(strict.body.message).toContain('strict decoding error: unknown field "spec.b"');
    const patched = await client.patch(`${widgets}/one?fieldValidation=Strict`, 'merge', { spec: { b: 1 } });
    expect(patched.status).toBe(422);
    expect(
      (await client.post(`${widgets}?fieldValidation=Ignore`, widget('three', spec))).headers.has('warning'),
    ).toBe(false);
  });

  test('gets defaults, also in place of a null, unless null is allowed', async () => {
    const client = await startWithWidgets(
      object({
        size: { ...text, default: 'small' },
        maybe: { ...text, default: 'x', nullable: true },
        inner: object({ count: { type: 'integer', default: 1 } }),
      }),
    );
    const { body } = await client.post(widgets, widget('one', { size: null, maybe: null, inner: {} }));
    expect(body.spec).toEqual({ size: 'small', maybe: null, inner: { count: 1 } });
  });

  test.each<[string, Schema, unknown, string]>([
    [
      'its type',
      { type: 'integer' },
      'x',
      'Invalid value: "string": spec.a in body must be of type integer: "string"',
    ],
    ['null', text, null, 'Invalid value: "null": spec.a in body must be of type string: "null"'],
    ['a choice', { ...text, enum: ['x', 'y'] }, 'z', 'Unsupported value: "z": supported values: "x", "y"'],
    [
      'a minimum',
      { type: 'integer', minimum: 3 },
      2,
      'Invalid value: 2: spec.a in body should be greater than or equal to 3',
    ],
    [
      'a maximum',
      { type: 'number', maximum: 3, exclusiveMaximum: true },
      3,
      'Invalid value: 3: spec.a in body should be less than 3',
    ],
    [
      'a pattern',
      { ...text, pattern: '^a+$' },
      'b',
      `Invalid value: "b": spec.a in body should match '^a+$'`,
    ],
    ['a length', { ...text, maxLength: 2 }, 'abc', 'Too long: may not be more than 2 bytes'],
    [
      'a format',
      { ...text, format: 'date-time' },
      'now',
      'Invalid value: "now": spec.a in body must be of type date-time: "now"',
    ],
    [
      'a number of items',
      { type: 'array', items: text, minItems: 1 },
      [],
      'Invalid value: 0: spec.a in body should have at least 1 items',
    ],
    [
      'int or string',
      { 'x-kubernetes-int-or-string': true },
      true,
      'Invalid value: "boolean": spec.a in body must be of type integer,string: "boolean"',
    ],
  ])('is held to %s', async (_what, schema, value, why) => {
    expect(await refusals(object({ a: schema }), { a: value })).toContain(`spec.a: ${why}`);
  });

  test('is held to what is required, and to lists whose items differ', async () => {
    const schema = object(
      {
        a: text,
        tags: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
        ports: {
          type: 'array',
          items: object({ name: text, port: { type: 'integer' } }, { required: ['name'] }),
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
        },
        labels: { type: 'object', additionalProperties: text },
      },
      { required: ['a'] },
    );
    const ports = [
      { name: 'x', port: 1 },
      { name: 'x', port: 2 },
    ];
    expect(await refusals(schema, { tags: ['q', 'q'], ports, labels: { k: 1 } })).toEqual([
      'spec.a: Required value',
      'spec.tags[1]: Duplicate value: "q"',
      'spec.ports[1]: Duplicate value: {"name":"x"}',
      'spec.labels[k]: Invalid value: "integer": spec.labels[k] in body must be of type string: "integer"',
    ]);
  });

  test('must match one alternative', async () => {
    const schema = object({ a: text, b: text }, { oneOf: [{ required: ['a'] }, { required: ['b'] }] });
    expect(await refusals(schema, { a: 'x' })).toEqual([]);
    expect((await refusals(schema, { a: 'x', b: 'y' }))[0]).toContain('Found 2 valid alternatives');
    expect((await refusals(schema, {}))[0]).toContain('Found none valid');
  });
});

describe('a rule', () => {
  const rules = (properties: Readonly<Record<string, Schema>>, ...validations: readonly object[]) =>
    object(properties, { 'x-kubernetes-validations': validations });
  const integer = { type: 'integer' } as const;

  test.each<[string, object, boolean]>([
    ['!has(self.b) || self.a > 1', { a: 2, b: 1 }, true],
    ['!has(self.b) || self.a > 1', { a: 1, b: 1 }, false],
    ['[has(self.a), has(self.b)].filter(x, x).size() == 1', { a: 1 }, true],
    ['[has(self.a), has(self.b)].filter(x, x).size() == 1', {}, false],
    ['self.list.all(x, x.startsWith("a") && x.matches("^[a-z]+$"))', { list: ['ab', 'ac'] }, true],
    ['self.list.exists_one(x, x == "ab")', { list: ['ab', 'ab'] }, false],
    ['self.list.map(x, size(x)).sum() == 4', { list: ['ab', 'ac'] }, true],
    ['"k" in self.map && self.map["k"] == "v"', { map: { k: 'v' } }, true],
    ['self.map.all(k, k.size() < 3)', { map: { long: 'v' } }, false],
    ['isURL(self.url) && url(self.url).getScheme() == "https"', { url: 'https://a.example/x' }, true],
    ['isURL(self.url) && url(self.url).getScheme() == "https"', { url: 'http://a.example/x' }, false],
    ['self.__namespace__ == "x" ? self.a == 1 : true', { namespace: 'x', a: 2 }, false],
    ['self.when < timestamp("2030-01-01T00:00:00Z")', { when: '2026-01-01T00:00:00Z' }, true],
  ])('%s', async (rule, spec, passes) => {
    const properties = {
      a: integer,
      b: integer,
      list: { type: 'array', items: text },
      map: { type: 'object', additionalProperties: text },
      url: text,
      namespace: text,
      when: { ...text, format: 'date-time' },
    };
    expect(await refusals(rules(properties, { rule }), spec)).toEqual(
      passes ? [] : [`spec: Invalid value: "object": failed rule: ${rule}`],
    );
  });

  test('tells its message, reason and field', async () => {
    const rule = 'self.a < 3';
    const schema = rules(
      { a: integer },
      { rule, message: 'too much', reason: 'FieldValueForbidden', fieldPath: '.a' },
      { rule, message: 'not this', messageExpression: '"got " + string(self.a)' },
    );
    expect(await refusals(schema, { a: 5 })).toEqual([
      'spec.a: Forbidden: too much',
      'spec: Invalid value: "object": got 5',
    ]);
  });

  test('about the old value is asked on an update only', async () => {
    const fixed = {
      ...text,
      'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'is immutable' }],
    };
    const client = await startWithWidgets(object({ fixed, other: text }));
    await client.post(widgets, widget('one', { fixed: 'a' }));
    expect((await client.patch(`${widgets}/one`, 'merge', { spec: { other: 'x' } })).status).toBe(200);
    const refused = await client.patch(`${widgets}/one`, 'merge', { spec: { fixed: 'b' } });
    expect(causes(refused.body)).toEqual(['spec.fixed: Invalid value: "string": is immutable']);
  });

  test('with an optional old value is asked always', async () => {
    const rule = 'oldSelf.hasValue() || self.a == 1';
    const client = await startWithWidgets(rules({ a: integer }, { rule, optionalOldSelf: true }));
    expect((await client.post(widgets, widget('one', { a: 2 }))).status).toBe(422);
    expect((await client.post(widgets, widget('one', { a: 1 }))).status).toBe(201);
    expect((await client.patch(`${widgets}/one`, 'merge', { spec: { a: 2 } })).status).toBe(200);
  });

  test('finds the old item of a list by its key', async () => {
    const item = object(
      { name: text, port: integer },
      {
        required: ['name'],
        'x-kubernetes-validations': [{ rule: 'self.port >= oldSelf.port', message: 'shrinks' }],
      },
    );
    const keyed = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] } as const;
    const client = await startWithWidgets(object({ ports: { type: 'array', items: item, ...keyed } }));
    const a = { name: 'a', port: 5 };
    await client.post(widgets, widget('one', { ports: [a] }));
    const grown = [
      { name: 'b', port: 1 },
      { ...a, port: 6 },
    ];
    expect((await client.patch(`${widgets}/one`, 'merge', { spec: { ports: grown } })).status).toBe(200);
    const shrunk = await client.patch(`${widgets}/one`, 'merge', { spec: { ports: [a] } });
    expect(causes(shrunk.body)).toEqual(['spec.ports[0]: Invalid value: "object": shrinks']);
  });

  test('does not judge again what did not change, nor does the schema', async () => {
    const client = await startWithWidgets(object({ a: text, b: text }));
    await client.post(widgets, widget('one', { a: 'long' }));
    const { body } = await client.get(`${definitions}/widgets.example.dev`);
    const stricter = definition(object({ a: { ...text, maxLength: 2 }, b: text }));
    const { resourceVersion } = body.metadata;
    const replaced = { ...stricter, metadata: { name: 'widgets.example.dev', resourceVersion } };
    expect((await client.put(`${definitions}/widgets.example.dev`, replaced)).status).toBe(200);
    expect((await client.patch(`${widgets}/one`, 'merge', { spec: { b: 'x' } })).status).toBe(200);
    expect((await client.patch(`${widgets}/one`, 'merge', { spec: { a: 'longer' } })).status).toBe(422);
  });
});
