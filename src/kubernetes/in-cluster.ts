/**
 * Access from within a pod: the address is in the environment, the ServiceAccount's token and the certificate of the API
 * server are files, which the kubelet replaces long before they expire. They are read again every minute, and after a 401.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import path from 'node:path';
import { Sensitive, UserError, messageOf, type Clock } from '../base/index.ts';
import type { ClusterAccess, Credentials } from './access.ts';

export const serviceAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';
const rereadMs = 60_000;

export interface InClusterOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly folder: string;
}

export function isInCluster({ environment, folder }: Omit<InClusterOptions, 'clock'>): boolean {
  return Boolean(environment['KUBERNETES_SERVICE_HOST']) && existsSync(path.join(folder, 'token'));
}

export async function inClusterAccess({
  environment,
  clock,
  folder,
}: InClusterOptions): Promise<ClusterAccess> {
  const host = environment['KUBERNETES_SERVICE_HOST'] ?? '';
  const port = environment['KUBERNETES_SERVICE_PORT'] ?? '443';
  const namespace = environment['POD_NAMESPACE'] || (await read(folder, 'namespace')).trim();
  let readAtMs = -Infinity;
  let current: Credentials | undefined;
  return {
    server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    description: `the cluster of this pod, as its ServiceAccount in the namespace ${namespace}`,
    namespace,
    proxy: undefined,
    async credentials() {
      if (current && clock.monotonicMs() - readAtMs < rereadMs) return current;
      const [token, ca] = await Promise.all([read(folder, 'token'), read(folder, 'ca.crt')]);
      readAtMs = clock.monotonicMs();
      current = {
        headers: new Sensitive({ authorization: `Bearer ${token.trim()}` }),
        tls: new Sensitive({ ca, rejectUnauthorized: true }),
      };
      return current;
    },
    refused() {
      current = undefined;
    },
  };
}

async function read(folder: string, name: string): Promise<string> {
  const file = path.join(folder, name);
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new UserError(
      `the pod's ServiceAccount can't be used: ${file} can't be read: ${messageOf(error)}`,
      'let the pod have its token (automountServiceAccountToken: true)',
      error,
    );
  }
}
