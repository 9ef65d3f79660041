import { fileURLToPath } from 'node:url';

/** What `demo` begins with. It lies beside src/, and beside dist/ (rolldown.config.ts puts this file as deep there as it is here). */
export const examplesFolder = fileURLToPath(new URL('../../examples', import.meta.url));

/** Only a bundle that somebody copied has none. */
export const documentsFolder = fileURLToPath(new URL('../../docs', import.meta.url));
