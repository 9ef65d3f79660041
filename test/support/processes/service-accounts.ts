/** A ServiceAccount of a test as a user: what it may do are the rights that the test gives it, on a real API server as well. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'vitest';
import { parse, stringify } from 'yaml';
import { apiServer } from './api-server.ts';
import type { Json } from './fleet.ts';
import type { TestCluster } from './kubernetes.ts';

export interface ServiceAccountName {
  readonly namespace: string;
  readonly name: string;
}

/** Writes its kubeconfig to the folder, and returns the path. It is created if there is none. */
export async function kubeconfigOf(
  { server, kubeconfig }: TestCluster,
  { namespace, name }: ServiceAccountName,
  folder: string,
): Promise<string> {
  if (server) return server.kubeconfig(folder, { token: server.tokenOf(namespace, name), namespace });
  const ask = await apiServer(kubeconfig);
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  const made = await ask({ method: 'POST', path: accounts, body: { metadata: { name } } });
  expect([201, 409]).toContain(made.status);
  const { status, body } = await ask({ method: 'POST', path: `${accounts}/${name}/token`, body: {} });
  expect(status).toBe(201);
  const config: Json = parse(await readFile(kubeconfig, 'utf8'));
  for (const { context } of config.contexts) context.namespace = namespace;
  for (const each of config.users) each.user = { token: body.status.token };
  await mkdir(folder, { recursive: true });
  const file = path.join(folder, 'kubeconfig');
  await writeFile(file, stringify(config), { mode: 0o600 });
  return file;
}
