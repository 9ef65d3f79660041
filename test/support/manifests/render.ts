/** The manifests as a cluster would be given them. */
import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { parse, parseAllDocuments } from 'yaml';

export const manifestsFolder = path.join(import.meta.dirname, '../../../manifests');

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

/** Why nothing but plain files can be read here; undefined when kustomize can be had. */
export function whatKustomizeNeeds(): string | undefined {
  const remedy = 'kubectl 1.27 or newer';
  const { status, stdout } = spawnSync('kubectl', ['version', '--client', '--output=json'], {
    encoding: 'utf8',
  });
  if (status !== 0) return `it needs ${remedy}`;
  const { kustomizeVersion = 'v0' } = JSON.parse(stdout) as { kustomizeVersion?: string };
  const major = Number(/^v(\d+)/.exec(kustomizeVersion)?.[1]);
  return major >= 5 ? undefined : `it needs ${remedy}; the one here has kustomize ${kustomizeVersion}`;
}

const rendered = new Map<string, Manifest[]>();

/** What `kubectl kustomize` makes of a folder below `manifests/`, once. */
export function kustomized(folder: string): readonly Manifest[] {
  const manifests = rendered.get(folder) ?? kustomize(folder);
  rendered.set(folder, manifests);
  return manifests;
}

function kustomize(folder: string): Manifest[] {
  const { status, stdout, stderr } = spawnSync('kubectl', ['kustomize', path.join(manifestsFolder, folder)], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(`kubectl kustomize ${folder}: ${stderr}`);
  return documentsOf(stdout);
}

/** The files that a kustomization names, those of others included, without what it changes in them. */
export function plainFiles(folder = '.'): Manifest[] {
  const root = path.join(manifestsFolder, folder);
  const { resources = [], components = [] } = parse(
    readFileSync(path.join(root, 'kustomization.yaml'), 'utf8'),
  ) as { resources?: string[]; components?: string[] };
  return [...resources, ...components].flatMap((name) => {
    const file = path.join(root, name);
    return statSync(file).isDirectory()
      ? plainFiles(path.relative(manifestsFolder, file))
      : documentsOf(readFileSync(file, 'utf8'));
  });
}

export function ofKind(manifests: readonly Manifest[], kind: string): Manifest[] {
  return manifests.filter((manifest) => manifest.kind === kind);
}

function documentsOf(text: string): Manifest[] {
  return parseAllDocuments(text).map((document) => document.toJS() as Manifest);
}
