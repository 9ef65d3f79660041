/** A registry of one private image, as the distribution protocol has it, over plain HTTP with a password. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';

const types = {
  manifest: 'application/vnd.docker.distribution.manifest.v2+json',
  config: 'application/vnd.docker.container.image.v1+json',
  layer: 'application/vnd.docker.image.rootfs.diff.tar.gzip',
};

interface Blob {
  readonly digest: string;
  readonly bytes: Buffer;
}

export class Registry implements AsyncDisposable {
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  readonly #blobs = new Map<string, Buffer>();
  #manifest: Blob = blob(Buffer.alloc(0));
  username = 'robot';
  password = 'first-password';
  /** How long each answer takes. */
  delayMs = 0;
  /** How many manifests were asked for. */
  pulls = 0;

  /** `HOST:PORT`. */
  async listen(): Promise<string> {
    await new Promise<void>((resolve) => {
      this.#server.listen(0, '127.0.0.1', resolve);
    });
    return this.host;
  }

  get host(): string {
    return `localhost:${(this.#server.address() as AddressInfo).port}`;
  }

  get repository(): string {
    return `${this.host}/acme/private`;
  }

  /** Serves a file system as `acme/private:1`. */
  async serve(tarFile: string): Promise<void> {
    const tar = await readFile(tarFile);
    const layer = this.#add(gzipSync(tar));
    const config = this.#add(
      json({
        architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
        os: 'linux',
        config: { Cmd: ['serve'], Env: ['PATH=/bin'] },
        rootfs: { type: 'layers', diff_ids: [blob(tar).digest] },
      }),
    );
    this.#manifest = blob(
      json({
        schemaVersion: 2,
        mediaType: types.manifest,
        config: { mediaType: types.config, size: config.bytes.length, digest: config.digest },
        layers: [{ mediaType: types.layer, size: layer.bytes.length, digest: layer.digest }],
      }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    await delay(this.delayMs);
    const credentials = Buffer.from(`${this.username}:${this.password}`).toString('base64');
    if (request.headers.authorization !== `Basic ${credentials}`) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="tests"' });
      response.end('{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}');
      return;
    }
    const [, kind, reference = ''] = /\/(manifests|blobs)\/([^/]+)$/.exec(request.url ?? '') ?? [];
    const isManifest = kind === 'manifests' && [this.#manifest.digest, '1'].includes(reference);
    const bytes = isManifest ? this.#manifest.bytes : this.#blobs.get(reference);
    if (request.url === '/v2/') response.writeHead(200).end('{}');
    else if (!bytes)
      response.writeHead(404).end('{"errors":[{"code":"MANIFEST_UNKNOWN","message":"unknown"}]}');
    else {
      if (isManifest) this.pulls += 1;
      const type = isManifest ? types.manifest : 'application/octet-stream';
      response.writeHead(200, { 'content-type': type, 'content-length': bytes.length });
      response.end(request.method === 'HEAD' ? undefined : bytes);
    }
  }

  #add(bytes: Buffer): Blob {
    const added = blob(bytes);
    this.#blobs.set(added.digest, bytes);
    return added;
  }
}

function blob(bytes: Buffer): Blob {
  return { bytes, digest: `sha256:${createHash('sha256').update(bytes).digest('hex')}` };
}

function json(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}
