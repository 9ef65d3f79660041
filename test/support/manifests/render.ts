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

/** What `kubectl kustomize` makes of a folder below `manifests/`. */
export const kustomized = once(kustomize);

/** The files that a kustomization names, those of others included, without what it changes in them. */
export const plainFiles = once(readFiles);

/** Folders do not change while tests run. */
function once(read: (folder: string) => Manifest[]): (folder?: string) => readonly Manifest[] {
  const known = new Map<string, Manifest[]>();
  return (folder = '.') => {
    const manifests = known.get(folder) ?? read(folder);
    known.set(folder, manifests);
    return manifests;
  };
}

function kustomize(folder: string): Manifest[] {
  const { status, stdout, stderr } = spawnSync('kubectl', ['kustomize', path.join(manifestsFolder, folder)], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(`kubectl kustomize ${folder}: ${stderr}`);
  return documentsOf(stdout);
}

function readFiles(folder: string): Manifest[] {
  const root = path.join(manifestsFolder, folder);
  const { resources = [], components = [] } = parse(
    readFileSync(path.join(root, 'kustomization.yaml'), 'utf8'),
  ) as { resources?: string[]; components?: string[] };
  return [...resources, ...components].flatMap((name) => {
    const file = path.join(root, name);
    return statSync(file).isDirectory()
      ? readFiles(path.relative(manifestsFolder, file))
      : documentsOf(readFileSync(file, 'utf8'));
  });
}

export function ofKind(manifests: readonly Manifest[], kind: string): Manifest[] {
  return manifests.filter((manifest) => manifest.kind === kind);
}

function documentsOf(text: string): Manifest[] {
  return parseAllDocuments(text).map((document) => document.toJS() as Manifest);
}
