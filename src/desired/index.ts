export { resolveEnvironment, type ResolvedEnvironment } from './environment.ts';
export { createFileSource, type FileSourceOptions } from './file-source.ts';
export { assemble, type FolderState, type SourceFile } from './folder.ts';
export { readFolder } from './folder-reader.ts';
export { parseFile, type ParsedDocument, type ParsedFile } from './parse.ts';
export { formatProblem } from './problem.ts';
export type * from './source.ts';
