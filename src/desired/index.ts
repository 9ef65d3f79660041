export { resolveCredentials } from './credentials.ts';
export { resolveEnvironment } from './environment.ts';
export { createFileSource } from './file-source.ts';
export { assemble } from './folder.ts';
export { readFolder } from './folder-reader.ts';
export { parseFile } from './parse.ts';
export { formatProblem, nearest, printable } from './problem.ts';
export type * from './source.ts';
