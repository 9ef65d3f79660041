import path from 'node:path';
import { UserError } from '../base/index.ts';
import { isDocumentFile } from '../desired/index.ts';

/** Throws a `UserError` if what is written to the file would be read from the source folder as a document. `what`: `the plan file`. */
export function refuseDocument(source: string, file: string, what: string): void {
  const inside = path.relative(path.resolve(source), path.resolve(file));
  const isDocument = isDocumentFile(file) && !inside.startsWith('..') && !path.isAbsolute(inside);
  if (!isDocument) return;
  throw new UserError(
    `${file} is in the source ${source}, and would be read as a document`,
    `write ${what} to another folder`,
  );
}
