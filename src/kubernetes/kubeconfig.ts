/**
 * Access by kubeconfig: contexts, tokens, client certificates, exec plug-ins and OpenID Connect, as
 * @kubernetes/client-node understands them; nothing else of that package is used. The files are read again after a 401,
 * so that whatever was renewed in them counts.
 */
import type { RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import { Sensitive, UserError, messageOf, type Clock } from '../base/index.ts';
import type { ClusterAccess, Credentials } from './access.ts';

export interface KubeconfigOptions {
  /** At least one; what the first ones say counts. */
  readonly files: readonly string[];
  /** Default: the current one. */
  readonly context: string | undefined;
  readonly clock: Clock;
}

/** Exec plug-ins are asked, and files read, at most this often. */
const freshMs = 1000;

export function kubeconfigAccess(options: KubeconfigOptions): ClusterAccess {
  const { files, clock } = options;
  let config = load(options);
  const name = config.getCurrentContext();
  const { server, proxyUrl } = clusterOf(config, files);
  let asked: { readonly atMs: number; readonly answer: Promise<Credentials> } | undefined;
  let stale = false;
  return {
    server: server.replace(/\/+$/, ''),
    description: `the context ${name} of ${files.join(', ')} (${server})`,
    namespace: config.getContextObject(name)?.namespace ?? 'default',
    proxy: proxyOf(proxyUrl, name),
    credentials() {
      const nowMs = clock.monotonicMs();
      if (asked && nowMs - asked.atMs < freshMs) return asked.answer;
      if (stale) config = load(options);
      stale = false;
      asked = { atMs: nowMs, answer: credentialsOf(config) };
      return asked.answer;
    },
    refused() {
      stale = true;
    },
  };
}

function load({ files, context }: KubeconfigOptions): KubeConfig {
  const config = new KubeConfig();
  for (const file of files) merge(config, file);
  if (context !== undefined) config.setCurrentContext(context);
  const name = config.getCurrentContext();
  if (!name || !config.getContextObject(name)) {
    const names = config.getContexts().map((one) => one.name);
    throw new UserError(
      name
        ? `there is no context ${name} in ${files.join(', ')}`
        : `${files.join(', ')} has no current context`,
      `choose one with --context: ${names.join(', ') || 'there is none'}`,
    );
  }
  // The library refuses http without this word; `connect` has its own rule for it.
  config.clusters = config.clusters.map((cluster) =>
    cluster.server.startsWith('http:') ? { ...cluster, skipTLSVerify: true } : cluster,
  );
  return config;
}

/** As kubectl does: of things of one name, the first one counts. */
function merge(config: KubeConfig, file: string): void {
  const next = new KubeConfig();
  try {
    next.loadFromFile(file);
  } catch (error) {
    throw new UserError(
      `the kubeconfig ${file} can't be used: ${messageOf(error)}`,
      'see --kubeconfig, and KUBECONFIG in the environment',
      error,
    );
  }
  config.clusters = firstOfEachName([...config.clusters, ...next.clusters]);
  config.users = firstOfEachName([...config.users, ...next.users]);
  config.contexts = firstOfEachName([...config.contexts, ...next.contexts]);
  if (!config.currentContext) config.currentContext = next.currentContext;
}

function firstOfEachName<One extends { readonly name: string }>(all: readonly One[]): One[] {
  return [...new Map(all.toReversed().map((one) => [one.name, one])).values()].toReversed();
}

function clusterOf(config: KubeConfig, files: readonly string[]): { server: string; proxyUrl?: string } {
  const cluster = config.getCurrentCluster();
  if (!cluster?.server) {
    throw new UserError(
      `the context ${config.getCurrentContext()} of ${files.join(', ')} names no cluster with a server`,
      'correct it; `kubectl config view` shows it',
    );
  }
  return cluster;
}

function proxyOf(address: string | undefined, context: string): string | undefined {
  if (address && !/^https?:/.test(address)) {
    throw new UserError(
      `the cluster of the context ${context} is behind a proxy of a kind that is not supported: ${address}`,
      'use a proxy-url with http or https',
    );
  }
  return address || undefined;
}

async function credentialsOf(config: KubeConfig): Promise<Credentials> {
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.headers ?? {}))
    headers[name.toLowerCase()] = String(value);
  if (options.auth) headers['authorization'] = `Basic ${Buffer.from(options.auth).toString('base64')}`;
  return {
    headers: new Sensitive(headers),
    tls: new Sensitive({
      ...picked('ca', options.ca),
      ...picked('cert', options.cert),
      ...picked('key', options.key),
      ...picked('servername', options.servername),
      rejectUnauthorized: options.rejectUnauthorized ?? true,
    }),
  };
}

function picked(name: string, value: unknown): object {
  return value === undefined ? {} : { [name]: value };
}
