export type { DataId } from './cluster-references.ts';
export {
  createClusterSource,
  type ClusterDesiredSource,
  type ClusterSourceOptions,
} from './cluster-source.ts';
export type { Shard } from './cluster-shard.ts';
export { resolveCredentials } from './credentials.ts';
export { resolveEnvironment } from './environment.ts';
export { createFileSource } from './file-source.ts';
export { assemble, type SourceFile } from './folder.ts';
export { readFolder } from './folder-reader.ts';
export type { FolderWatchOptions, WatchFolder } from './folder-watch.ts';
export {
  byAccountRef,
  byKind,
  byNamespace,
  desiredObjects,
  referredKeys,
  referringTo,
  type Referring,
} from './objects.ts';
export { parseFile } from './parse.ts';
export { formatProblem, nearest, placeText, printable } from './problem.ts';
export { changedKeys, following } from './snapshots.ts';
export type * from './source.ts';
