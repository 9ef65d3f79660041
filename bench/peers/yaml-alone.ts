/** Parses each document of the folder `process.argv[2]`, which has some, and does nothing else. */
import { documentsOf } from './documents.ts';

const [folder] = process.argv.slice(2);
if (!folder) throw new Error('an argument is missing');
if (documentsOf(folder).length === 0) throw new Error(`${folder} has no documents`);
