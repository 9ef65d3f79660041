/**
 * The environment of a service: its values are never returned (§2), only their names. So names are compared as
 * they are, and values through the digest in the beacon's name; a digest that was made with another key
 * proves nothing and is never drift.
 */
import type { wire } from '../../api/index.ts';
import { sameValue, Sensitive } from '../../base/index.ts';
import {
  beaconName,
  markedUid,
  environmentDigest,
  hidden,
  isDrift,
  parseBeacon,
  readMark,
  reportsUnrecorded,
  type Difference,
  type Owner,
} from '../../engine/plan/index.ts';
import type { ShownAs } from '../../state/index.ts';
import type { ServiceInputs } from './inputs.ts';
import { changedVariables, variableOrigins, withOrigin } from './variables.ts';

/** The map to send: a present one replaces everything (§2), so it is whole and carries the beacon. */
export function wireEnvironment({
  environment,
  owner,
  record,
}: ServiceInputs): Sensitive<Readonly<Record<string, string>>> {
  const values = environment.kind === 'given' ? environment.values : undefined;
  const beacon = beaconName(owner, markedUid(record), values);
  // Without a prototype: V8 would keep a shape for each service, since its beacon is a name of its own.
  const map = Object.assign(Object.create(null) as Record<string, string>, values?.reveal());
  map[beacon] = 'managed by fleetkeeper';
  return new Sensitive(map);
}

/** Differences have the paths `env.NAME` (names) and `env` (values); never a value. */
export function environmentDifferences(inputs: ServiceInputs, service: wire.Service): Difference[] {
  const { environment, owner, record } = inputs;
  if (environment.kind !== 'given') return [];
  const desiredDigest = environmentDigest(owner, environment.values);
  const applied = record.applied['env'];
  const drift = isDrift('env', desiredDigest, record) || mayBeDrift(inputs, service, desiredDigest);
  const values: Difference = { path: 'env', desired: '(as declared)', observed: '(other values)', drift };
  const names = service.environmentNames;
  if (!names) {
    const isApplied = applied === undefined || applied === desiredDigest;
    return isApplied ? [] : [{ ...values, observed: hidden, drift: false, hidden: true }];
  }
  const shown = record.shownAs['env'];
  if (shown?.desired === desiredDigest && shown.observed === namesDigest(inputs, names)) return [];
  if (drift && isProvidersOwn(inputs, service)) return [];
  const differences = nameDifferences(inputs, Object.keys(environment.values.reveal()), names, drift);
  const changed = drift ? [] : (changedVariables(inputs) ?? []);
  const withNames = (difference: Difference) =>
    changed.length === 0 ? difference : { ...difference, changedNames: changed };
  const [first, ...rest] = differences;
  if (first) return [withNames(first), ...rest];
  const { ours } = readMark(names, owner, markedUid(record));
  if (!ours) return [{ path: 'env', desired: '(with our beacon)', observed: '(without it)', drift }];
  const differs =
    ours.keyId === owner.digestKey.id
      ? ours.digest !== desiredDigest
      : applied !== undefined && applied !== desiredDigest;
  return differs ? [withNames(values)] : [];
}

/** Without a record, the mark shows which values were sent: others than these are a change of the document. */
function mayBeDrift(
  inputs: ServiceInputs,
  { environmentNames }: wire.Service,
  desiredDigest: string,
): boolean {
  if (!reportsUnrecorded(inputs)) return false;
  const { owner, record } = inputs;
  const { ours } = readMark(environmentNames, owner, markedUid(record));
  return ours?.keyId !== owner.digestKey.id || ours.digest === desiredDigest;
}

/**
 * All that was sent is there, and more, and the revision has not moved since it was not: every accepted change advances it
 * (§2), so nobody has changed the service, and the provider shows something of its own.
 */
function isProvidersOwn({ environment, owner, record }: ServiceInputs, service: wire.Service): boolean {
  const { environmentNames: names, revision, id } = service;
  if (environment.kind !== 'given' || !names || record.baseline?.id !== id) return false;
  if (revision === undefined || revision !== record.baseline.revision) return false;
  const sent = sentNames(environment.values, owner, markedUid(record));
  return names.length > sent.length && sent.every((name) => names.includes(name));
}

/** Of a service that is as desired: the form in which the API shows its environment, if it is another one than was sent. */
export function ownForm(inputs: ServiceInputs, service: wire.Service | undefined): Record<string, ShownAs> {
  const { environment, owner } = inputs;
  if (!service?.environmentNames || environment.kind !== 'given') return {};
  const desired = environmentDigest(owner, environment.values);
  const { env: observed } = shownEnvironment(inputs, service);
  const isOther = observed !== undefined && observed !== desired && isProvidersOwn(inputs, service);
  return isOther ? { env: { desired, observed } } : {};
}

/** What the API shows of it: the digest of the desired map itself, or of other names than those that were sent. */
export function shownEnvironment(inputs: ServiceInputs, service: wire.Service): Record<string, string> {
  const { environment, owner, record } = inputs;
  const names = service.environmentNames;
  if (!names || environment.kind === 'problem' || environment.kind === 'as-applied') return {};
  const values = environment.kind === 'given' ? environment.values : undefined;
  const asSent = sameValue([...names].sort(), sentNames(values, owner, markedUid(record)).sort());
  return { env: asSent ? environmentDigest(owner, values) : namesDigest(inputs, names) };
}

function sentNames(
  values: Sensitive<Readonly<Record<string, string>>> | undefined,
  owner: Owner,
  uid: string,
): string[] {
  return [...Object.keys(values?.reveal() ?? {}), beaconName(owner, uid, values)];
}

function namesDigest({ owner }: ServiceInputs, names: readonly string[]): string {
  return owner.digestKey.digest([...names].sort());
}

function nameDifferences(
  { object }: ServiceInputs,
  desired: readonly string[],
  names: readonly string[],
  drift: boolean,
): Difference[] {
  const origins = variableOrigins(object.spec);
  const observed = new Set(names.filter((name) => parseBeacon(name) === undefined));
  const wanted = new Set(desired);
  return [
    ...[...wanted].filter((name) => !observed.has(name)).map((name) => [name, '(set)', null] as const),
    ...[...observed].filter((name) => !wanted.has(name)).map((name) => [name, null, '(set)'] as const),
  ]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, want, seen]) =>
      withOrigin(
        { path: `env.${name}`, desired: want, observed: seen, drift },
        want === null ? undefined : origins.get(name),
      ),
    );
}
