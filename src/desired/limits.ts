/** Bounds of a folder and of a cluster. Each is far above what a fleet needs. What is beyond them is a mistake or an attack. */
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
  /** Spec, labels, annotations and owners of one object of a cluster. */
  objectBytes: 256 * 1024,
  finalizersBytes: 8 * 1024,
  /** What is kept of the spec of an object that is beyond that, and one annotation or field of it. */
  smallBytes: 32 * 1024,
  fieldBytes: 1024,
} as const;
