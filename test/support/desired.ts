import { VersionedMap } from '../../src/base/index.ts';
import {
  assemble,
  desiredObjects,
  parseFile,
  type ClusterFacts,
  type DesiredSnapshot,
  type SourceFile,
} from '../../src/desired/index.ts';

const parsed = new Map<string, SourceFile>();

/** A file is parsed once, as by the folder source. */
function parseOnce(file: string, text: string) {
  const id = `${file}\n${text}`;
  const known = parsed.get(id) ?? { ...parseFile(file, text), digest: text };
  parsed.set(id, known);
  return known;
}

/** What a folder with these files, and these folders below it, would be read as. */
export function desiredOf(
  files: Readonly<Record<string, string>>,
  folders: readonly string[] = [],
): DesiredSnapshot {
  return assemble(
    Object.entries(files).map(([file, text]) => parseOnce(file, text)),
    1,
    { name: '.', problems: [], complete: true, folders: new Set(folders) },
  );
}

/** A document of a service; `more` are lines of its spec. */
export function serviceDocument(name: string, more: readonly string[] = []): string {
  return [
    'apiVersion: fleetkeeper.dev/v1alpha1',
    'kind: ContainerService',
    `metadata: {name: ${name}}`,
    'spec:',
    '  region: standard',
    '  image: ghcr.io/acme/web:1',
    '  resources: {gpuCount: 1, cpu: 8, memoryGb: 32}',
    ...more.map((line) => `  ${line}`),
    '',
  ].join('\n');
}

/** The same documents, as objects of a cluster; `uids` by key, where another than `uid` is meant. */
export function inCluster(
  folder: DesiredSnapshot,
  uids: Readonly<Partial<Record<string, string>>> = {},
): DesiredSnapshot {
  const factsOf = (key: string): ClusterFacts => ({
    uid: uids[key] ?? 'uid',
    generation: 1,
    resourceVersion: '1',
    finalizers: [],
    status: undefined,
    deletionRequestedAt: undefined,
  });
  const objects = [...folder.objects].map(
    ([key, object]) => [key, { ...object, cluster: factsOf(key) }] as const,
  );
  return {
    ...folder,
    objects: desiredObjects(objects),
    cluster: VersionedMap.of(objects.map(([key, { cluster }]) => [key, cluster])),
  };
}
