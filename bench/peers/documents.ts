/** The documents of a folder, by the faster YAML library and nothing else: what no reader of a folder in Node can do without. */
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { CORE_SCHEMA, loadAll } from 'js-yaml';

/** Throws for a document that is no YAML. */
export function documentsOf(folder: string): unknown[] {
  return readdirSync(folder).flatMap((file) =>
    loadAll(readFileSync(path.join(folder, file), 'utf8'), { schema: CORE_SCHEMA }),
  );
}
