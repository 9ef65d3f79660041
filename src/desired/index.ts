export type { DataFault } from './data-documents.ts';
export type { DataId } from './references.ts';
export {
  createClusterSource,
  type ClusterDesiredSource,
  type ClusterSourceOptions,
} from './cluster/cluster-source.ts';
export { readClusterObject, type ClusterEntry } from './cluster/cluster-object.ts';
export { keptObject } from './cluster/kept-object.ts';
export { ClusterOverlay, type OverlayCheck } from './cluster/overlay.ts';
export { shardBys, shardOf, shardOfAccount, type Shard, type ShardBy } from './cluster/cluster-shard.ts';
export { setSpecField, type EditedText } from './field-edit.ts';
export { createFileSource } from './folder/file-source.ts';
export { holdsFleet } from './folder/finding.ts';
export { assemble, type SourceFile } from './folder/folder.ts';
export { readFolder } from './folder/folder-reader.ts';
export type { FolderWatchOptions, WatchFolder } from './folder-watch.ts';
export {
  accountObject,
  accountsIn,
  adoptersOf,
  byAccountRef,
  byKind,
  byNamespace,
  desiredObjects,
  listsUsedBy,
  objectOf,
  referredKeys,
  referringOf,
  referringTo,
  usersOfList,
  type AccountObject,
  type Referring,
  type SeparateList,
} from './objects.ts';
export { limits } from './limits.ts';
export type { SecretsReading } from './secrets/memory.ts';
export { readSecrets, type SecretsDirectoryOptions } from './secrets/secrets-directory.ts';
export { parseFile } from './parse.ts';
export { nearest } from '../base/index.ts';
export { formatProblem, placeText, printable } from './problem.ts';
export { holdsDocuments, settingsFileName } from './settings-file.ts';
export { changedKeys, following, isWholeIn } from './snapshots.ts';
export type * from './source.ts';
export { lineAt, readYaml, type YamlDocument } from './yaml.ts';
export { isDocumentFile, isSkipped } from './folder/listing.ts';
