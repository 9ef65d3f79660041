/** The fields of a service (§2 "Service", and "Gaps in resource fields"). */
import type { Dialect, Form } from '../dialect.ts';
import type { Json } from '../provider/conduct.ts';

/** One field in another form; what is null stays null. */
export function field(name: string, form: (value: Json, record: Json) => Json): Form {
  return (record) => {
    if (record[name] !== null && record[name] !== undefined) record[name] = form(record[name], record);
    return record;
  };
}

export function without(...names: string[]): Form {
  return (record) => {
    for (const name of names) delete record[name];
    return record;
  };
}

export function renamed(from: string, to: string): Form {
  return (record) => {
    const { [from]: value, ...rest } = record;
    return value === undefined ? record : { ...rest, [to]: value };
  };
}

const service = (form: Form): Pick<Dialect, 'forms'> => ({ forms: { service: form } });

const endpoints: readonly Dialect[] = [
  {
    name: 'endpoint-object',
    silence: 'service endpoint',
    plays: '`{url, protocol, port}`',
    ...service(field('endpoint', (url) => ({ url, protocol: 'https', port: 443 }))),
  },
  {
    name: 'endpoint-host-object',
    silence: 'service endpoint',
    plays: '`{host, port}`, no address at all',
    ...service(field('endpoint', (url) => ({ host: new URL(url).host, port: 443 }))),
  },
  {
    name: 'endpoint-list',
    silence: 'service endpoint',
    plays: 'a list of addresses',
    ...service(field('endpoint', (url) => [url, `${url}:8443`])),
  },
  {
    name: 'endpoint-object-list',
    silence: 'service endpoint',
    plays: 'a list of `{port, url}`',
    ...service(field('endpoint', (url) => [{ port: 80, url }])),
  },
  {
    name: 'endpoint-by-port',
    silence: 'service endpoint',
    plays: 'a map of ports to addresses',
    ...service(field('endpoint', (url, { httpPort }) => ({ [String(httpPort)]: url }))),
  },
  {
    name: 'endpoint-host',
    silence: 'service endpoint',
    plays: 'a host and port without scheme',
    ...service(field('endpoint', (url) => `${new URL(url).host}:443`)),
  },
  {
    name: 'endpoint-always',
    silence: 'service endpoint',
    plays: 'an address in every state',
    ...service((record) => ({ ...record, endpoint: `https://${record.id}.apps.provider.example` })),
  },
  {
    name: 'endpoint-never',
    silence: 'service endpoint',
    plays: 'none, ever, even with an `httpPort`',
    held: { 'ContainerService/api': 'NoEndpoint', 'ContainerService/web': 'NoEndpoint' },
    notSimulated: 'nothing with a port would come to be Ready',
    ...service((record) => ({ ...record, endpoint: null })),
  },
];

const places: readonly Dialect[] = [
  {
    name: 'geography-object',
    silence: 'resolved geography',
    plays: '`{group, zone}`',
    ...service(field('geography', (group) => ({ group, zone: `${group}-2` }))),
  },
  {
    name: 'geography-list',
    silence: 'resolved geography',
    plays: 'a list of zones',
    ...service(field('geography', (group) => [`${group}-1`, `${group}-2`])),
  },
  {
    name: 'geography-zone',
    silence: 'resolved geography',
    plays: 'the zone that was chosen: `europe` shows as `eu-west-2`',
    ...service(field('geography', () => 'eu-west-2')),
  },
  {
    name: 'geography-upper-case',
    silence: 'resolved geography',
    plays: 'in upper case',
    ...service(field('geography', (group) => group.toUpperCase())),
  },
  {
    name: 'geography-hidden',
    silence: 'resolved geography',
    plays: 'under the name `resolvedGeography`',
    ...service(renamed('geography', 'resolvedGeography')),
  },
  {
    name: 'geography-null',
    silence: 'resolved geography',
    plays: 'null',
    ...service((record) => ({ ...record, geography: null })),
  },
  {
    name: 'region-object',
    silence: 'fields of a service that are not named',
    plays: '`region` as `{id, name}`',
    ...service(field('region', (name) => ({ id: `r-${name}`, name }))),
  },
  {
    name: 'region-upper-case',
    silence: 'letter case of values',
    plays: '`region` in upper case',
    ...service(field('region', (name) => name.toUpperCase())),
  },
];

const errors: readonly Dialect[] = [
  {
    name: 'error-object',
    silence: 'service and volume error',
    plays: '`{code, message}`, also when nothing is wrong',
    ...service((record) => ({
      ...record,
      error: { code: record.error === null ? null : 'ImagePull', message: record.error },
    })),
  },
  {
    name: 'error-list',
    silence: 'service and volume error',
    plays: 'a list, which is empty when nothing is wrong',
    ...service((record) => ({ ...record, error: record.error === null ? [] : [record.error] })),
  },
  {
    name: 'error-nested',
    silence: 'service and volume error',
    plays: '`{type, detail: {reason}}`',
    ...service(field('error', (reason) => ({ type: 'launch', detail: { reason } }))),
  },
  {
    name: 'error-hidden',
    silence: 'service and volume error',
    plays: 'not shown',
    hidesErrors: true,
    ...service(without('error')),
  },
  {
    name: 'error-false',
    silence: 'service and volume error',
    plays: 'false',
    ...service((record) => ({ ...record, error: record.error ?? false })),
  },
  {
    name: 'error-empty-text',
    silence: 'service and volume error',
    plays: 'an empty text',
    ...service((record) => ({ ...record, error: record.error ?? '' })),
  },
];

const environments: readonly Dialect[] = [
  {
    name: 'environment-objects',
    silence: 'names of environment variables',
    plays: '`environmentNames: [{name}]`',
    ...service(field('environmentNames', (names) => names.map((name: string) => ({ name })))),
  },
  {
    name: 'environment-described-objects',
    silence: 'names of environment variables',
    plays: '`environmentNames: [{name, secret, updatedAt}]`',
    ...service(
      field('environmentNames', (names) =>
        names.map((name: string) => ({ name, secret: true, updatedAt: '2026-01-01T00:00:00Z' })),
      ),
    ),
  },
  {
    name: 'environment-map',
    silence: 'names of environment variables',
    plays: '`environmentNames` as a map of names to null',
    ...service(
      field('environmentNames', (names) => Object.fromEntries(names.map((name: string) => [name, null]))),
    ),
  },
  {
    name: 'environment-masked',
    silence: 'names of environment variables',
    plays: 'a map `environment` of names to `"***"`, no `environmentNames`',
    ...service(({ environmentNames, ...record }) => ({
      ...record,
      environment: Object.fromEntries((environmentNames ?? []).map((name: string) => [name, '***'])),
    })),
  },
  {
    name: 'environment-list',
    silence: 'names of environment variables',
    plays: 'a list `environment` of names, no `environmentNames`',
    ...service(renamed('environmentNames', 'environment')),
  },
  {
    name: 'environment-text',
    hides: true,
    silence: 'names of environment variables',
    plays: '`environmentNames` as one text with commas',
    ...service(field('environmentNames', (names) => names.join(','))),
  },
  {
    name: 'environment-hidden',
    hides: true,
    hidesMarks: true,
    silence: 'names of environment variables',
    plays: 'no names at all',
    ...service(without('environmentNames')),
  },
  {
    name: 'environment-once-running',
    silence: 'names of environment variables',
    plays: 'an empty list until the service runs, after each launch',
    conduct: { namesOnceRunning: true },
  },
  {
    name: 'environment-sorted',
    silence: 'names of environment variables',
    plays: 'backwards, each twice',
    ...service(field('environmentNames', (names) => [...names, ...names].toReversed())),
  },
];

const commands: readonly Dialect[] = [
  {
    name: 'command-text',
    silence: 'service command',
    plays: 'one text, with blanks between the elements',
    ...service(field('command', (words) => words.join(' '))),
  },
  {
    name: 'command-object',
    hides: true,
    silence: 'service command',
    plays: '`{entrypoint, args}`',
    ...service(field('command', ([entrypoint = null, ...args]) => ({ entrypoint, args }))),
  },
  {
    name: 'command-null',
    silence: 'service command',
    plays: 'null when there is none',
    ...service(field('command', (words) => (words.length === 0 ? null : words))),
  },
  {
    name: 'command-hidden',
    hides: true,
    silence: 'service command',
    plays: 'not shown',
    ...service(without('command')),
  },
];

export const serviceFields: readonly Dialect[] = [
  ...endpoints,
  ...places,
  ...errors,
  ...environments,
  ...commands,
];
