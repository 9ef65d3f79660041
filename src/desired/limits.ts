/** Bounds of a folder. Each is far above what a fleet needs. A folder beyond them is a mistake or an attack. */
export const limits = {
  /** Of one file. */
  fileBytes: 1024 * 1024,
  /** Of standard input, which has a whole source. */
  inputBytes: 64 * 1024 * 1024,
  /** Of one file, and of a whole source. */
  documents: 10_000,
  files: 10_000,
  /** Entries of any kind that are read during a listing. */
  entries: 100_000,
  /** Syntax errors and directives (`%…`) of one file. */
  oddities: 1000,
  /** Nested maps and lists of a document. */
  nesting: 64,
  /** Values that a file gains when its aliases and merge keys are expanded. */
  aliasedValues: 100_000,
  /** Problems reported for one document. */
  problemsPerDocument: 20,
  problemsPerFile: 200,
  problemsPerCluster: 1000,
} as const;
