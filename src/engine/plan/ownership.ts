/**
 * Whose a thing is. The API has no labels. But it returns the *names* of environment variables and the names of volumes,
 * and both are part of the create request. So a mark in them can't be lost between a create and its response.
 *
 * A service carries a beacon, a variable named
 *
 *     FLEETKEEPER_BEACON_<owner>_<uid>_<key>_<digest>
 *
 * - owner: 8 hex digits of the owner's name.
 * - uid: 32 hex digits of the object's uid (`markedUid`).
 * - key, digest: 8 and 16 hex digits of a keyed digest of the desired environment. So changed values are noticed although
 *   the API never returns them. A digest of another key proves nothing.
 *
 * A volume's name ends with `-fk` and 13 hex digits: 8 of owner and uid, 5 of a keyed digest of them. A template carries a
 * line in its description:
 *
 *     fleetkeeper: <owner>/<uid>/<key>
 *
 * A registry has no room for a mark. Its repository is unique in its account, and identifies it.
 */
import { digestOf, uuidOf, type DigestKey, type Sensitive } from '../../base/index.ts';
import type { ObjectRecord } from '../../state/index.ts';
import { beaconPrefix, volumeMarkLength } from '../../resources/index.ts';

export interface Owner {
  /** 8 hex digits. */
  readonly id: string;
  readonly digestKey: DigestKey;
}

export function ownerId(ownerName: string): string {
  return digestOf(`owner:${ownerName}`).slice(0, 8);
}

/**
 * The uid of an object of a folder. It is the same again after the state file was lost. In a cluster, the marks of an owned object
 * contain it, and its uid is that of the resource.
 */
export function derivedUid(ownerName: string, key: string): string {
  return uuidOf(digestOf(`uid:${ownerName}:${key}`));
}

/** The uid that the marks of what the object manages contain. */
export function markedUid({ uid, markedAs }: Pick<ObjectRecord, 'uid' | 'markedAs'>): string {
  return markedAs ?? uid;
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

/** `environment` is undefined if the spec does not manage it. */
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

/** What the beacons among the variables' names show about the object with this uid. */
export function readMark(
  environmentNames: readonly string[] | null | undefined,
  owner: Owner,
  uid: string,
): { ours: Beacon | undefined; foreign: Beacon | undefined } {
  const beacons = (environmentNames ?? []).map(parseBeacon).filter((beacon) => beacon !== undefined);
  const isOurs = (beacon: Beacon) => beacon.ownerId === owner.id && beacon.uid === compactUid(uid);
  return { ours: beacons.find(isOurs), foreign: beacons.find((beacon) => !isOurs(beacon)) };
}

/** Found wherever an API puts it, and in any case. */
const volumeMarkPattern = /-fk[0-9a-f]{13}(?![0-9a-f])/gi;
/** `-fk` and the digits of owner and uid. Those after them show which state made it. */
const volumeMarkIdLength = 11;

export const volumeMarkStart = '-fk';

export function volumeMark(owner: Owner, uid: string): string {
  const id = digestOf(`volume:${owner.id}:${compactUid(uid)}`);
  return (
    `${volumeMarkStart}${id}`.slice(0, volumeMarkIdLength) +
    owner.digestKey.digest(id).slice(0, volumeMarkLength - volumeMarkIdLength)
  );
}

/** The last match is the mark. It follows the text of the author, which may contain another mark. */
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

/** Replaces the mark in the name. */
export function withVolumeMark(name: string, mark: string): string {
  return replaceLast(name, volumeMarkPattern, mark);
}

/** The part of a mark that identifies a volume, even after the state file was lost. */
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

/** The line in a description. Including the line break it has at most `templateMarkLength` characters. */
export function templateMark(owner: Owner, uid: string): string {
  return `fleetkeeper: ${owner.id}/${compactUid(uid)}/${owner.digestKey.id}`;
}

/** The mark in a description, wherever it is. */
export function readTemplateMark(description: string | null | undefined): TemplateMark | undefined {
  const match = lastMatch(description ?? '', templateMarkPattern);
  if (!match) return undefined;
  const [owner = '', uid = '', keyId = ''] = match.slice(1).map((part) => part.toLowerCase());
  return { ownerId: owner, uid, keyId };
}

/** The author's text. */
export function withoutTemplateMark(description: string): string {
  return replaceLast(description, templateMarkPattern, '').trimEnd();
}

export function describedWithMark(text: string, mark: string): string {
  return text.trimEnd() === '' ? mark : `${text.trimEnd()}\n${mark}`;
}
