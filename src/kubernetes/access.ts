/** Where a Kubernetes API is, and how one proves to it who one is. */
import type { Sensitive } from '../base/index.ts';

export interface ClusterAccess {
  /** Without a slash at its end. */
  readonly server: string;
  /** For people: where, and as whom. */
  readonly description: string;
  /** Of the pod, or of the context. */
  readonly namespace: string;
  /** An HTTP proxy before the server. */
  readonly proxy: string | undefined;
  /** Asked before each request, since tokens and certificates rotate. */
  credentials(): Promise<Credentials>;
  /** The server did not accept them (401): they are made anew before the next request. */
  refused(): void;
}

export interface Credentials {
  readonly headers: Sensitive<Readonly<Record<string, string>>>;
  readonly tls: Sensitive<TlsOptions>;
}

/** As `node:tls` takes them. */
export interface TlsOptions {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly passphrase?: string;
  readonly servername?: string;
  readonly rejectUnauthorized: boolean;
}
