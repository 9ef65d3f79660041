/**
 * Messages of a Notification, as a webhook and Slack get them (docs/internals/notifications.md has the fields). They are made of what the
 * status and the table of reasons have, which is without secrets. Pure.
 */
import { createHmac } from 'node:crypto';
import { oneLine, rfc3339, type Sensitive } from '../../base/index.ts';
import { problemHash, type DueMessage, type Trouble } from '../../engine/index.ts';
import { isReason, reasons, type Severity } from '../../reasons/index.ts';
import {
  parseObjectKey,
  type ObjectKey,
  type StoredAnnouncement,
  type StoredNotification,
} from '../../resources/index.ts';

export interface Message {
  readonly formatVersion: 1;
  /** Of the problem or occurrence: the same from its beginning to its end. */
  readonly id: string;
  readonly type: DueMessage['type'];
  readonly at: string;
  readonly since: string | null;
  readonly severity: Severity;
  readonly reason: string | null;
  readonly account: string | null;
  /** At most five of `count`. */
  readonly objects: readonly ObjectKey[];
  readonly count: number;
  readonly message: string;
  readonly meaning: string;
  readonly remedy: string;
  readonly link?: string;
}

export interface Occurrence {
  readonly id: string;
  readonly key: ObjectKey;
  readonly reason: string;
  readonly severity: Severity;
  readonly account: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly message: string;
  readonly at: number;
}

export interface MessageSources {
  readonly state: StoredNotification;
  readonly troubles: ReadonlyMap<string, Trouble>;
  /** The objects behind hashes, as far as they are known. */
  readonly names: (reason: string, hashes: readonly string[]) => readonly ObjectKey[];
  /** The object of an occurrence that an earlier process saved, by its hash; undefined: it is not known. */
  readonly objectOf: (hash: string) => ObjectKey | undefined;
  readonly occurrence: Occurrence | undefined;
  readonly pageUrl: string | undefined;
}

const namesShown = 5;
const longestMessage = 1024;

/** Undefined: nobody knows any more what it was about. */
export function messageOf(due: DueMessage, sources: MessageSources): Message | undefined {
  const { state, occurrence } = sources;
  if (due.type === 'digest') return digestOf(due, state);
  if (due.type === 'happened') {
    const known = occurrence ?? storedOccurrence(due, sources);
    return known && happened(due, known, sources);
  }
  const found = state.announcements?.find(({ id }) => id === due.id);
  return found && announced(due, found, sources);
}

function announced(due: DueMessage, found: StoredAnnouncement, sources: MessageSources): Message {
  const { troubles, names } = sources;
  const { reason, severity, account, since, message } = found;
  const hashes = message?.hashes ?? found.open;
  const objects = names(reason, hashes).slice(0, namesShown);
  const first = hashes.map((hash) => troubles.get(hash)).find((each) => each !== undefined);
  const isEnd = due.type === 'ended';
  return {
    ...frame(due, sources, objects),
    since: rfc3339(since),
    severity,
    reason,
    account: account ?? null,
    objects,
    count: message?.count ?? hashes.length,
    message: isEnd ? 'it is over' : cut(first?.message ?? ''),
    ...explained(reason, isEnd),
  };
}

type Known = Pick<Occurrence, 'reason' | 'severity' | 'account' | 'message'> & {
  readonly objects: readonly ObjectKey[];
};

/** What an earlier process saved of it. Its text is not known any more. */
function storedOccurrence(due: DueMessage, { state, objectOf }: MessageSources): Known | undefined {
  const found = state.happened?.find(({ id }) => id === due.id);
  if (found?.reason === undefined || found.hash === undefined || !isReason(found.reason)) return undefined;
  return {
    reason: found.reason,
    severity: reasons[found.reason].severity,
    account: found.account,
    message: 'it happened before a restart of Fleetkeeper, which does not know more about it',
    objects: [objectOf(found.hash)].filter((key) => key !== undefined),
  };
}

function happened(due: DueMessage, occurrence: Occurrence | Known, sources: MessageSources): Message {
  const { reason, severity, account, message } = occurrence;
  const objects = 'key' in occurrence ? [occurrence.key] : occurrence.objects;
  return {
    ...frame(due, sources, objects),
    since: null,
    severity,
    reason,
    account: account ?? null,
    objects,
    count: 1,
    message: cut(message),
    ...explained(reason, false),
  };
}

function digestOf(due: DueMessage, { digestMessage }: StoredNotification): Message | undefined {
  if (!digestMessage) return undefined;
  const { opened, ended, reminders, happened: more, beyond, since } = digestMessage;
  const parts = [
    `${opened} problems began`,
    `${ended} ended`,
    `${reminders} are still open`,
    `${more} other things happened`,
    ...(beyond === 0 ? [] : [`${beyond} more are open, too many to be announced one by one`]),
  ];
  return {
    formatVersion: 1,
    id: due.id,
    type: 'digest',
    at: rfc3339(due.at),
    since: rfc3339(since),
    severity: 'warning',
    reason: null,
    account: null,
    objects: [],
    count: opened + ended + reminders + more + beyond,
    message: `not announced one by one: ${parts.join(', ')}`,
    meaning: 'More was to be announced than `maxPerHour` allows, or more than 500 problems are open.',
    remedy: '`fleetkeeper status` and the page show all problems.',
  };
}

function frame(
  { id, type, at }: DueMessage,
  { pageUrl }: MessageSources,
  [first]: readonly ObjectKey[],
): Pick<Message, 'formatVersion' | 'id' | 'type' | 'at' | 'link'> {
  const link = pageUrl === undefined ? {} : { link: linkTo(pageUrl, first) };
  return { formatVersion: 1, id, type, at: rfc3339(at), ...link };
}

function linkTo(pageUrl: string, key: ObjectKey | undefined): string {
  const path = key === undefined ? [] : ['objects', ...Object.values(parseObjectKey(key))];
  return `${pageUrl.replace(/\/+$/, '')}/#/${path.map(encodeURIComponent).join('/')}`;
}

function explained(reason: string, isEnd: boolean): Pick<Message, 'meaning' | 'remedy'> {
  const entry = isReason(reason) ? reasons[reason] : undefined;
  return { meaning: entry?.meaning ?? '', remedy: isEnd ? '' : (entry?.remedy ?? '') };
}

function cut(text: string): string {
  const line = oneLine(text);
  return line.length > longestMessage ? `${line.slice(0, longestMessage - 1)}…` : line;
}

/** Objects by the hashes of their problems. Known names first; for others, all `keys` are compared. */
export function namesOf(
  reason: string,
  hashes: readonly string[],
  known: ReadonlyMap<string, ObjectKey>,
  keys: () => Iterable<ObjectKey>,
): readonly ObjectKey[] {
  const found = hashes.flatMap((hash) => known.get(hash) ?? []);
  if (found.length >= Math.min(hashes.length, namesShown)) return found;
  const wanted = new Set(hashes);
  const all: ObjectKey[] = [];
  for (const key of keys()) {
    if (wanted.has(problemHash(key, reason))) all.push(key);
    if (all.length >= namesShown) break;
  }
  return [...new Set([...found, ...all])];
}

/** The text of a webhook of Slack. Nothing that others wrote can mention anybody, link, or format. */
export function slackBody(message: Message): string {
  const { severity, type, reason, count, account, since, objects, remedy, link } = message;
  const what = reason === null ? 'digest' : `${reason}: ${count} ${count === 1 ? 'object' : 'objects'}`;
  const where = account === null ? '' : ` in ${plain(account)}`;
  const lines = [
    `*${titles[type]}* (${severity}) ${what}${where}${since === null ? '' : ` since ${since}`}`,
    ...(objects.length === 0 ? [] : [objects.map(plain).join(', ')]),
    plain(message.message),
    ...(remedy === '' ? [] : [plain(remedy)]),
    ...(link === undefined ? [] : [`<${link}|show>`]),
  ];
  const text = lines.filter((line) => line !== '').join('\n');
  return JSON.stringify({ text, parse: 'none', link_names: false, unfurl_links: false, unfurl_media: false });
}

const titles: Readonly<Record<DueMessage['type'], string>> = {
  opened: 'Problem',
  reminder: 'Still open',
  ended: 'Ended',
  happened: 'Happened',
  digest: 'Digest',
};

/** A character without width, behind which nothing is read as a name or an address. */
const gap = '\u200B';

function plain(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll(/[*_~`]/g, (mark) => `${gap}${mark}${gap}`)
    .replaceAll(/[@#]/g, (mark) => `${mark}${gap}`)
    .replaceAll('://', `:${gap}//`)
    .replaceAll(/\bwww\./gi, (text_) => `${text_.slice(0, -1)}${gap}.`)
    .replaceAll(/\b(mailto|tel):/gi, (text_) => `${text_.slice(0, -1)}${gap}:`);
}

/** `t=…,v1=…`: HMAC-SHA256 over time (Unix seconds) and body. A receiver refuses old times. */
export function signature(key: Sensitive<string>, atMs: number, body: string): string {
  const at = Math.floor(atMs / 1000);
  const digest = createHmac('sha256', key.reveal().trim()).update(`${at}.${body}`).digest('hex');
  return `t=${at},v1=${digest}`;
}
