/** What no reader of a folder in Node can do without: the YAML library parses each document of the folder `process.argv[2]`. */
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { parseAllDocuments } from 'yaml';

/** As src/desired/yaml.ts has them. */
const options = { prettyErrors: false, uniqueKeys: false, resolveKnownTags: false, schema: 'core' } as const;
const folder = process.argv[2] ?? '.';
for (const file of readdirSync(folder)) {
  const documents = parseAllDocuments(readFileSync(path.join(folder, file), 'utf8'), options);
  for (const document of documents) document.toJS();
}
