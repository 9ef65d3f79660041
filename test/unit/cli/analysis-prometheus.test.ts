import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { analysisPrometheus, analysisPrometheusOption } from '../../../src/cli/analysis-prometheus.ts';
import { temporaryFile } from '../../support/temporary.ts';

describe('the address of a Prometheus', () => {
  const parse = (text: string) => analysisPrometheusOption().parseArg?.(text, undefined);

  test.each(['http://prometheus:9090', 'https://metrics.example/prometheus/', 'http://127.0.0.1:9090'])(
    '%s is taken',
    (url) => {
      expect(parse(url)).toBe(url);
    },
  );

  test.each([
    'prometheus:9090',
    'ftp://a/',
    'http://user:secret@a/',
    'http://a/?x=1',
    'http://a/#x',
    'http://a b/',
  ])('%s is refused', (url) => {
    expect(() => parse(url)).toThrow('expected an http or https address');
  });
});

describe('its token', () => {
  const tokenWith = (environment: Readonly<Record<string, string>>) =>
    analysisPrometheus({ environment }, { analysisPrometheus: 'http://a' })
      .analysisPrometheus?.token()
      ?.reveal();

  test('is that of the environment, or of its file, which is read at each use', () => {
    const file = temporaryFile('token');
    const environment = { FLEETKEEPER_PROMETHEUS_TOKEN_FILE: file };
    expect(tokenWith(environment)).toBeUndefined();
    writeFileSync(file, 'one\n');
    expect(tokenWith(environment)).toBe('one');
    writeFileSync(file, 'two\n');
    expect(tokenWith(environment)).toBe('two');
    expect(tokenWith({ ...environment, FLEETKEEPER_PROMETHEUS_TOKEN: 'three' })).toBe('three');
    expect(tokenWith({})).toBeUndefined();
  });

  test('is of no use without the address', () => {
    expect(analysisPrometheus({ environment: { FLEETKEEPER_PROMETHEUS_TOKEN: 'a' } }, {})).toEqual({});
  });
});
