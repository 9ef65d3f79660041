/** The documents of a folder, by the YAML library and nothing else: what no reader of a folder in Node can do without. */
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { parseAllDocuments } from 'yaml';

/** As src/desired/yaml.ts has them. */
const options = { prettyErrors: false, uniqueKeys: false, resolveKnownTags: false, schema: 'core' } as const;

/** Throws for a document that is no YAML. */
export function documentsOf(folder: string): unknown[] {
  const values: unknown[] = [];
  for (const file of readdirSync(folder)) {
    for (const document of parseAllDocuments(readFileSync(path.join(folder, file), 'utf8'), options)) {
      const [error] = document.errors;
      if (error) throw error;
      values.push(document.toJS());
    }
  }
  return values;
}
