/**
 * Who may read the API beside `/healthz`, by the flags of `run` and `page`. On loopback nothing is asked, unless one of them is given. On any
 * other address there is no API without one.
 */
import { Option, type Command } from 'commander';
import { UserError, messageOf, systemFetch } from '../base/index.ts';
import { pageFiles } from '../http/index.ts';
import {
  anyOf,
  hostRule,
  isLoopbackHost,
  OidcAccess,
  open,
  ReadApi,
  TokenAccess,
  type Access,
  type FleetSource,
  type ReadApiMetrics,
} from '../read-api/index.ts';
import type { Logger, Metrics } from '../telemetry/index.ts';
import type { Context } from './context.ts';
import type { ListenAddress } from './ports.ts';

export interface PageFlags {
  readonly pageTokenFile?: string;
  readonly pageOidcIssuer?: string;
  readonly pageOidcAudience?: string;
  readonly pageOidcAccess?: string;
  readonly pageHost?: readonly string[];
  /** Of `page` only. */
  readonly pageKubernetesAuth?: boolean;
}

const mostHosts = 16;

/** docs/reference/api.md has what they mean. */
export function withPageFlags(command: Command): Command {
  return command
    .addOption(pageOption('--page-token-file <file>', 'a token per line; each may read everything'))
    .addOption(
      pageOption('--page-oidc-issuer <url>', 'accept ID tokens of this issuer, as a proxy sends them'),
    )
    .addOption(pageOption('--page-oidc-audience <name>', 'for which they have to be'))
    .addOption(pageOption('--page-oidc-access <file>', 'YAML: which claim sees which namespaces'))
    .addOption(
      pageOption('--page-host <name>', 'a host name by which it is reached; repeatable').argParser(
        (name: string, before: readonly string[] | undefined) => [...(before ?? []), name],
      ),
    );
}

/** They need an API server that knows the readers. */
export function withKubernetesPageFlags(command: Command): Command {
  return withPageFlags(command).addOption(
    pageOption('--page-kubernetes-auth', 'tokens of the cluster; each sees the namespaces that it may list'),
  );
}

function pageOption(flags: string, description: string): Option {
  return new Option(flags, `of the read API: ${description}`);
}

/** Throws a `UserError` for flags of what an operator does not serve. */
export function refusePageFlags(flags: PageFlags): void {
  const given = Object.entries({
    '--page-token-file': flags.pageTokenFile,
    '--page-oidc-issuer': flags.pageOidcIssuer,
    '--page-oidc-audience': flags.pageOidcAudience,
    '--page-oidc-access': flags.pageOidcAccess,
    '--page-host': flags.pageHost,
  }).flatMap(([flag, value]) => (value === undefined ? [] : [flag]));
  if (given.length > 0)
    throw new UserError(
      `${given.join(', ')}: an operator serves no read API and no page`,
      'leave it out; `fleetkeeper page` serves them for a cluster, also while no operator runs',
    );
}

export interface ReadApiParts {
  readonly source: FleetSource;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Of a cluster: asked for with --page-kubernetes-auth. */
  readonly kubernetes?: () => Access;
}

const mayBeGiven = '--page-token-file or --page-oidc-issuer';

/** Undefined: there is none at this address. Throws a `UserError` when a flag is wrong. */
export function createReadApi(
  { clock, random }: Context,
  flags: PageFlags,
  { host }: ListenAddress,
  { source, logger, metrics, kubernetes }: ReadApiParts,
): ReadApi | undefined {
  const { pageHost = [] } = flags;
  if (pageHost.length > mostHosts)
    throw new UserError(`--page-host is given ${pageHost.length} times`, `give at most ${mostHosts} names`);
  const asked = accessesOf(flags, clock);
  if (flags.pageKubernetesAuth && kubernetes) asked.push(kubernetes());
  if (asked.length === 0 && !isLoopbackHost(host)) {
    logger.info({ note: `it listens on ${host}` }, `no read API: other machines need ${mayBeGiven}`);
    return undefined;
  }
  const access = asked.length === 0 ? open : anyOf(asked);
  return new ReadApi({
    source,
    access,
    hosts: hostRule(host, pageHost),
    clock,
    process: random.uuid().replaceAll('-', '').slice(0, 12),
    random,
    metrics: pageMetrics(metrics),
    files: pageFiles(),
    onDefect: (error) => logger.error({ err: error }, 'a request of the read API failed because of a defect'),
  });
}

function accessesOf(flags: PageFlags, clock: Context['clock']): Access[] {
  const {
    pageTokenFile,
    pageOidcIssuer: issuer,
    pageOidcAudience: audience,
    pageOidcAccess: accessFile,
  } = flags;
  const accesses: Access[] = [];
  if (pageTokenFile !== undefined)
    accesses.push(usable(new TokenAccess(pageTokenFile, clock), '--page-token-file', pageTokenFile));
  const oidc = { issuer, audience, accessFile };
  if (Object.values(oidc).every((value) => value === undefined)) return accesses;
  if (issuer === undefined || audience === undefined || accessFile === undefined) {
    throw new UserError(
      '--page-oidc-issuer, --page-oidc-audience and --page-oidc-access belong together',
      'give all three; without an access file, nobody would see anything',
    );
  }
  const isSafe =
    URL.canParse(issuer) && (issuer.startsWith('https://') || isLoopbackHost(new URL(issuer).hostname));
  if (!isSafe)
    throw new UserError(
      `--page-oidc-issuer ${issuer} is not an https address`,
      'give it as the tokens have it in `iss`',
    );
  accesses.push(
    usable(
      new OidcAccess({ issuer, audience, accessFile, clock, fetch: systemFetch }),
      '--page-oidc-access',
      accessFile,
    ),
  );
  return accesses;
}

function usable<One extends Access & { check(): void }>(access: One, flag: string, file: string): One {
  try {
    access.check();
    return access;
  } catch (error) {
    throw new UserError(
      `${flag} ${file} can't be used: ${messageOf(error)}`,
      'correct it, or check the path',
      error,
    );
  }
}

function pageMetrics(metrics: Metrics): ReadApiMetrics {
  const { pageRequests, pageStreams, pageStreamResets, pageDenied } = metrics;
  return {
    request: (path, code) => pageRequests.inc({ path, code: String(code) }),
    streams: (count) => pageStreams.set(count),
    reset: (reason) => pageStreamResets.inc({ reason }),
    denied: (reason) => pageDenied.inc({ reason }),
  };
}
