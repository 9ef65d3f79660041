/** A chart of `charts/` as Helm renders it: values checked by its schema, templates evaluated. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv } from 'ajv';
import { parse, parseAllDocuments } from 'yaml';
import type { Manifest } from '../manifests/render.ts';
import { Templates } from './evaluate.ts';

export const chartsFolder = path.join(import.meta.dirname, '../../../charts');

type Values = Readonly<Record<string, unknown>>;

/** As Helm: maps are joined, lists are replaced. */
function joined(defaults: unknown, given: unknown): unknown {
  if (given === undefined) return defaults;
  if (!isMap(defaults) || !isMap(given)) return given;
  const names = new Set([...Object.keys(defaults), ...Object.keys(given)]);
  return Object.fromEntries([...names].map((name) => [name, joined(defaults[name], given[name])]));
}

function isMap(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Throws where Helm refuses the values. */
export function renderChart(chart: string, given: Values = {}, namespace = 'fleetkeeper-system'): Manifest[] {
  const folder = path.join(chartsFolder, chart);
  const read = (file: string) => readFileSync(path.join(folder, file), 'utf8');
  const values = joined(parse(read('values.yaml')) ?? {}, given);
  const validate = new Ajv({ allErrors: true, allowUnionTypes: true }).compile(
    JSON.parse(read('values.schema.json')) as object,
  );
  if (!validate(values)) {
    const errors = validate.errors?.map(
      ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
    );
    throw new Error(`values don't meet the schema of ${chart}: ${errors?.join('; ')}`);
  }
  const files = globSync('templates/*', { cwd: folder }).sort();
  const templates = new Templates(new Map(files.map((file) => [file, read(file)])));
  const { version, appVersion } = parse(read('Chart.yaml')) as { version: string; appVersion: string };
  const dot = {
    Values: values,
    Release: { Name: 'fleetkeeper', Namespace: namespace, Service: 'Helm' },
    Chart: { Name: chart, Version: version, AppVersion: appVersion },
    Files: { Get: read },
  };
  return files
    .filter((file) => file.endsWith('.yaml'))
    .flatMap((file) => manifestsIn(templates.render(file, dot)));
}

/** `version`: of YAML. That of Kubernetes is 1.1. */
export function manifestsIn(text: string, version: '1.1' | '1.2' = '1.2'): Manifest[] {
  return parseAllDocuments(text, { version }).flatMap((document) => {
    const [error] = document.errors;
    if (error) throw error;
    const manifest = document.toJS() as Manifest | null;
    return manifest ? [manifest] : [];
  });
}
