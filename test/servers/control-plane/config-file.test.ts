import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { defaultConfig, parseConfig } from '../../../src/control-plane/main.ts';

const example = path.join(import.meta.dirname, '../../../examples/control-plane/config.yaml');

test('the example has every field, each with its default', () => {
  const text = readFileSync(example, 'utf8');
  expect(parseConfig(text, example)).toEqual(defaultConfig);
  const written = [...text.matchAll(/^(?<part>\w+):/gm)].map(({ groups }) => groups?.['part']);
  expect(written).toEqual(Object.keys(defaultConfig));
  const { regions, durations, largestResources, identity } = defaultConfig;
  for (const field of [regions[0]?.prices, durations, largestResources].flatMap((part) =>
    Object.keys(part ?? {}),
  )) {
    expect(text).toContain(`${field}: `);
  }
  expect(identity).toBeNull();
});

test('the identity provider of the example, uncommented, is valid', () => {
  const commented = readFileSync(example, 'utf8').split('\nidentity: null')[1] ?? '';
  const text = commented.replaceAll(/^# ?/gm, '');
  expect(parseConfig(text, 'c.yaml').identity).toEqual({
    issuer: 'https://login.example',
    audience: ['fleetkeeper'],
    jwksUri: 'https://login.example/keys',
    header: 'authorization',
    algorithms: expect.arrayContaining(['RS256', 'ES256', 'EdDSA']),
  });
});

test('an empty file is the defaults', () => {
  expect(parseConfig('# nothing\n', 'c.yaml')).toEqual(defaultConfig);
});

test('what a file leaves out has its default, down to the single price and duration', () => {
  const text = `
regions:
  - name: edge
    geographies: [{name: attic}]
    prices: {cpuHourMicros: 7}
durations: {provisionMs: 1}`;
  const config = parseConfig(text, 'c.yaml');
  expect(config.regions).toEqual([
    {
      name: 'edge',
      description: '',
      geographies: [{ name: 'attic', gpus: {} }],
      prices: { ...defaultConfig.regions[0]?.prices, cpuHourMicros: 7 },
    },
  ]);
  expect(config.durations).toEqual({ ...defaultConfig.durations, provisionMs: 1 });
  expect({ ...config, regions: null, durations: null }).toEqual({
    ...defaultConfig,
    regions: null,
    durations: null,
  });
});

test('a built-in template takes the defaults of any template, and its id in lower case', () => {
  const text = 'templates: [{id: 7D3F4C52-6A0E-4F0B-9D35-1F6A5B0C1A09, name: n, image: i}]';
  expect(parseConfig(text, 'c.yaml').templates).toEqual([
    {
      id: '7d3f4c52-6a0e-4f0b-9d35-1f6a5b0c1a09',
      name: 'n',
      description: '',
      image: 'i',
      command: null,
      resources: { gpuCount: 0, cpu: 1, memoryGb: 2 },
      httpPort: null,
      containerDiskGb: 10,
      workspaceGb: null,
      sleepAfterMinutes: null,
      requiredEnvironment: [],
    },
  ]);
});

describe('a mistake is named with file, line and path', () => {
  const id = '7d3f4c52-6a0e-4f0b-9d35-1f6a5b0c1a09';
  const region = (fields: string) => `regions:\n  - name: a\n    geographies: [{name: x}]\n${fields}`;
  const identity = (fields: string) => `identity:\n  issuer: https://login.example\n${fields}`;
  test.each([
    ['regions: {', /^c\.yaml:1:\d+: not valid YAML: /],
    ['[]', /^c\.yaml:1: the document: .*expected object/],
    ['\nregins: []', /^c\.yaml:2: regins: there is no such field/],
    ['browserEnabled: "yes"', /^c\.yaml:1: browserEnabled: .*boolean/],
    ['regions: []', /^c\.yaml:1: regions: /],
    ['regions:\n  - name: a', /^c\.yaml:2: regions\[0\]\.geographies: /],
    [region('    prices:\n      gpuHourMicros: 0.5'), /^c\.yaml:5: regions\[0\]\.prices\.gpuHourMicros: /],
    [region('    prices:\n      cpuHourMicros: -1'), /^c\.yaml:5: regions\[0\]\.prices\.cpuHourMicros: /],
    [
      region('    prices:\n      cpuHourMicros: 100000001'),
      /^c\.yaml:5: regions\[0\]\.prices\.cpuHourMicros: /,
    ],
    [region('  - name: a\n    geographies: [{name: x}]'), /^c\.yaml:4: regions\[1\]\.name: "a" occurs twice/],
    ['regions: [{name: a/b, geographies: [{name: x}]}]', /^c\.yaml:1: regions\[0\]\.name: /],
    ['regions: [{name: a, geographies: [{name: auto}]}]', /regions\[0\]\.geographies\[0\]\.name: .*auto/],
    [
      'regions:\n- name: a\n  geographies:\n  - name: x\n  - name: x',
      /^c\.yaml:5: regions\[0\]\.geographies\[1\]\.name: "x" occurs twice/,
    ],
    [
      'regions:\n- name: a\n  geographies:\n  - name: x\n    gpus:\n      l4: 1\n      h200: 2',
      /^c\.yaml:7: regions\[0\]\.geographies\[0\]\.gpus\.h200: gpuCatalog has no such model; it has h100, a100, l4/,
    ],
    [
      'gpuCatalog: []',
      /^c\.yaml:1: regions\[0\]\.geographies\[0\]\.gpus\.h100: gpuCatalog has no such model/,
    ],
    [
      'gpuCatalog:\n- {model: l4, name: L4, memoryGb: [24], fullMemoryGb: 24}\n- {model: l4, name: L4, memoryGb: [24], fullMemoryGb: 24}',
      /^c\.yaml:3: gpuCatalog\[1\]\.model: "l4" occurs twice/,
    ],
    [
      `${region('')}gpuCatalog: [{model: l4, name: L4, memoryGb: [12, 48], fullMemoryGb: 24}]`,
      /^c\.yaml:4: gpuCatalog\[0\]\.memoryGb\[1\]: must be at most fullMemoryGb, 24/,
    ],
    ['durations: {stopMs: 90000000}', /^c\.yaml:1: durations\.stopMs: /],
    ['largestResources: {cpu: 0}', /^c\.yaml:1: largestResources\.cpu: /],
    ['templates: [{id: 1, name: n, image: i}]', /^c\.yaml:1: templates\[0\]\.id: /],
    ['templates: [{id: not-a-uuid, name: n, image: i}]', /^c\.yaml:1: templates\[0\]\.id: /],
    [
      `templates:\n- {id: ${id}, name: n, image: i}\n- {id: ${id.toUpperCase()}, name: n, image: i}`,
      /^c\.yaml:3: templates\[1\]\.id: ".*" occurs twice/,
    ],
    [
      `templates: [{id: ${id}, name: n, image: i, requiredEnvironment: [A, A]}]`,
      /^c\.yaml:1: templates\[0\]\.requiredEnvironment: each name may occur once/,
    ],
    [
      `largestResources: {gpuCount: 1}\ntemplates:\n- id: ${id}\n  name: n\n  image: i\n  resources: {gpuCount: 2, cpu: 1, memoryGb: 1}`,
      /^c\.yaml:6: templates\[0\]\.resources\.gpuCount: must be at most that of largestResources, 1/,
    ],
    [identity(''), /^c\.yaml:1: identity\.audience: /],
    [identity('  audience: []'), /^c\.yaml:3: identity\.audience: /],
    [
      'identity:\n  issuer: http://login.example\n  audience: a',
      /^c\.yaml:2: identity\.issuer: must be an https URL/,
    ],
    [
      identity('  audience: a\n  jwksUri: file:///keys'),
      /^c\.yaml:4: identity\.jwksUri: must be an https URL/,
    ],
    [identity('  audience: a\n  algorithms: [HS256]'), /^c\.yaml:4: identity\.algorithms\[0\]: /],
    [identity('  audience: a\n  algorithms: [none]'), /^c\.yaml:4: identity\.algorithms\[0\]: /],
    [identity('  audience: a\n  algorithms: []'), /^c\.yaml:4: identity\.algorithms: /],
    [
      identity('  audience: a\n  header: X Token'),
      /^c\.yaml:4: identity\.header: must be the name of a header/,
    ],
    [identity('  audience: a\n  header: Idempotency-Key'), /^c\.yaml:4: identity\.header: .*another meaning/],
  ])('%j', (text, expected) => {
    expect(() => parseConfig(text, 'c.yaml')).toThrow(expected);
  });
});
