/**
 * Whose is it? The API has no labels, but it returns the *names* of environment variables and the names of
 * volumes, and both are part of the create itself: a mark in them can't be lost between a create and its
 * answer.
 *
 * A service carries a beacon, a variable named
 *
 *     FLEETKEEPER_BEACON_<owner>_<uid>_<key>_<digest>
 *
 * owner: 8 hex digits of the owner's name; uid: 32 of the object's uid; key and digest: 8 and 16 of a keyed
 * digest of the desired environment, so that replaced values are seen although values are never returned. A
 * digest of another key proves nothing. A volume carries `-fk` and 13 hex digits behind its name: 8 of
 * owner and uid, 5 of a keyed digest of them. A template carries a line in its description:
 *
 *     fleetkeeper: <owner>/<uid>/<key>
 *
 * A registry has room for no mark; its repository is unique in its account, and it is known by that.
 */
import { digestOf, uuidOf, type DigestKey, type Sensitive } from '../../base/index.ts';
import { beaconPrefix, volumeMarkLength } from '../../resources/index.ts';

export interface Owner {
  /** 8 hex digits. */
  readonly id: string;
  readonly digestKey: DigestKey;
}

export function ownerId(ownerName: string): string {
  return digestOf(`owner:${ownerName}`).slice(0, 8);
}

/** The uid of an object of a folder: the same again when the state file was lost. */
export function derivedUid(ownerName: string, key: string): string {
  return uuidOf(digestOf(`uid:${ownerName}:${key}`));
}

export interface Beacon {
  readonly name: string;
  readonly ownerId: string;
  /** Without dashes. */
  readonly uid: string;
  readonly keyId: string;
  readonly digest: string;
}

const beaconPattern = new RegExp(
  `^${beaconPrefix}([0-9A-F]{8})_([0-9A-F]{32})_([0-9A-F]{8})_([0-9A-F]{16})$`,
);

export function parseBeacon(name: string): Beacon | undefined {
  const match = beaconPattern.exec(name);
  if (!match) return undefined;
  const [owner = '', uid = '', keyId = '', digest = ''] = match.slice(1).map((part) => part.toLowerCase());
  return { name, ownerId: owner, uid, keyId, digest };
}

export function compactUid(uid: string): string {
  return uid.replaceAll('-', '');
}

/** `environment` undefined: the spec does not manage it. */
export function beaconName(
  owner: Owner,
  uid: string,
  environment: Sensitive<Readonly<Record<string, string>>> | undefined,
): string {
  const digest = environmentDigest(owner, environment);
  return `${beaconPrefix}${[owner.id, compactUid(uid), owner.digestKey.id, digest].join('_').toUpperCase()}`;
}

export function environmentDigest(
  owner: Owner,
  environment: Sensitive<Readonly<Record<string, string>>> | undefined,
): string {
  return owner.digestKey.digest({ environment: environment?.reveal() ?? null });
}

/** What the beacons among the variables' names say of the object with this uid. */
export function readMark(
  environmentNames: readonly string[] | null | undefined,
  owner: Owner,
  uid: string,
): { ours: Beacon | undefined; foreign: Beacon | undefined } {
  const beacons = (environmentNames ?? []).map(parseBeacon).filter((beacon) => beacon !== undefined);
  const isOurs = (beacon: Beacon) => beacon.ownerId === owner.id && beacon.uid === compactUid(uid);
  return { ours: beacons.find(isOurs), foreign: beacons.find((beacon) => !isOurs(beacon)) };
}

/** Wherever an API has put it, in whatever case of letters it shows names. */
const volumeMarkPattern = /-fk[0-9a-f]{13}(?![0-9a-f])/gi;
/** `-fk` and the digits that say whose it is; those behind it say which state made it. */
const volumeMarkIdLength = 11;

export function volumeMark(owner: Owner, uid: string): string {
  const id = digestOf(`volume:${owner.id}:${compactUid(uid)}`);
  return (
    `-fk${id}`.slice(0, volumeMarkIdLength) +
    owner.digestKey.digest(id).slice(0, volumeMarkLength - volumeMarkIdLength)
  );
}

/** The last one is the mark: it is put behind what the author of a document writes, who may write another's there. */
function lastMatch(text: string, pattern: RegExp): RegExpExecArray | undefined {
  return [...text.matchAll(pattern)].at(-1);
}

function replaceLast(text: string, pattern: RegExp, by: string): string {
  const match = lastMatch(text, pattern);
  return match ? text.slice(0, match.index) + by + text.slice(match.index + match[0].length) : text;
}

/** The mark in a volume's name, if there is one. */
export function readVolumeMark(name: string | undefined): string | undefined {
  return lastMatch(name ?? '', volumeMarkPattern)?.[0].toLowerCase();
}

/** The name with another mark in the place of the one that it has. */
export function withVolumeMark(name: string, mark: string): string {
  return replaceLast(name, volumeMarkPattern, mark);
}

/** The part of a mark by which a volume is found again, also after the state file was lost. */
export function volumeMarkId(mark: string): string {
  return mark.slice(0, volumeMarkIdLength);
}

export interface TemplateMark {
  readonly ownerId: string;
  /** Without dashes. */
  readonly uid: string;
  readonly keyId: string;
}

const templateMarkPattern = /(?:^|\s+)fleetkeeper: ([0-9a-f]{8})\/([0-9a-f]{32})\/([0-9a-f]{8})(?=\s|$)/gi;

/** The line in a description, with the break before it at most `templateMarkLength` characters. */
export function templateMark(owner: Owner, uid: string): string {
  return `fleetkeeper: ${owner.id}/${compactUid(uid)}/${owner.digestKey.id}`;
}

/** The mark in a description, wherever somebody has put it. */
export function readTemplateMark(description: string | null | undefined): TemplateMark | undefined {
  const match = lastMatch(description ?? '', templateMarkPattern);
  if (!match) return undefined;
  const [owner = '', uid = '', keyId = ''] = match.slice(1).map((part) => part.toLowerCase());
  return { ownerId: owner, uid, keyId };
}

/** What people wrote. */
export function withoutTemplateMark(description: string): string {
  return replaceLast(description, templateMarkPattern, '').trimEnd();
}

export function describedWithMark(text: string, mark: string): string {
  return text.trimEnd() === '' ? mark : `${text.trimEnd()}\n${mark}`;
}
