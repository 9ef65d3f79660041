/** The files of the page: few, and known when it is built. They are in memory, by path, each with its ETag. */
export interface StaticFile {
  readonly type: string;
  readonly content: Buffer;
  readonly etag: string;
}

export type StaticFiles = ReadonlyMap<string, StaticFile>;
