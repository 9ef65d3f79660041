/** Bounds of a folder. Each is far above what a fleet needs; beyond it the folder is a mistake or an attack. */
export const limits = {
  /** Of one file. */
  fileBytes: 1024 * 1024,
  /** Of one file, and of a whole source. */
  documents: 10_000,
  files: 10_000,
  /** Entries looked at while listing, of whatever kind. */
  entries: 100_000,
  /** Syntax errors and directives (`%…`) of one file. */
  oddities: 1000,
  /** Of maps and lists in one another, in a document. */
  nesting: 64,
  /** Values that aliases and merge keys add to one file when they are followed. */
  aliasedValues: 100_000,
  /** Problems told about one document. */
  problemsPerDocument: 20,
  problemsPerFile: 200,
  problemsPerCluster: 1000,
} as const;
