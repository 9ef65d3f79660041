/** What no reader of a folder in Node can do without: the YAML library parses each document of the folder `process.argv[2]`. */
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { parseAllDocuments } from 'yaml';

const folder = process.argv[2] ?? '.';
for (const file of readdirSync(folder)) {
  for (const document of parseAllDocuments(readFileSync(path.join(folder, file), 'utf8'))) document.toJS();
}
