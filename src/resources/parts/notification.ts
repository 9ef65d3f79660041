/** What a Notification remembers, as it is stored. Times in Unix milliseconds. Of objects it has hashes only (engine/problems/trouble.ts). */
import type { Severity } from '../../reasons/index.ts';
import type { LabelSelector } from './budget.ts';

export type AnnouncedType = 'opened' | 'reminder' | 'ended';

/** A message that the sink has not accepted yet. */
export interface StoredMessage {
  readonly type: AnnouncedType;
  readonly at: number;
  /** How many objects it is about. */
  readonly count: number;
  /** Of `ended`: the hashes of those that no longer have the problem. */
  readonly hashes?: readonly string[] | undefined;
}

/** Problems of one account with one reason that began together. */
export interface StoredAnnouncement {
  readonly id: string;
  readonly reason: string;
  readonly severity: Severity;
  readonly account?: string | undefined;
  /** Since when the first of them has had it. */
  readonly since: number;
  /** When it was announced last: its beginning, or a reminder. */
  readonly at: number;
  /** Messages that were made of it. Each has its own Idempotency-Key. */
  readonly made: number;
  /** The sink has accepted a message with this id. */
  readonly begun: boolean;
  /** Hashes of the problems that are open. */
  readonly open: readonly string[];
  /** Those of `open` that were last seen absent, and since when. */
  readonly absent: Readonly<Record<string, number>>;
  readonly message?: StoredMessage | undefined;
}

/** What happened besides problems. Its text is in memory only. */
export interface StoredOccurrence {
  readonly id: string;
  readonly at: number;
  readonly reason?: string | undefined;
  readonly account?: string | undefined;
  /** Of the object and the reason. */
  readonly hash?: string | undefined;
}

export interface DigestCounts {
  readonly opened: number;
  readonly ended: number;
  readonly reminders: number;
  readonly happened: number;
  /** Problems that are open and are not remembered one by one. */
  readonly beyond: number;
}

export interface StoredDigest extends DigestCounts {
  /** When the first of it was put in. */
  readonly since: number;
}

/** A digest that the sink has not accepted yet. */
export interface StoredDigestMessage extends StoredDigest {
  readonly at: number;
}

export interface StoredNotification {
  readonly announcements?: readonly StoredAnnouncement[] | undefined;
  /** What happened, and the sink has not accepted yet. */
  readonly happened?: readonly StoredOccurrence[] | undefined;
  /** Messages in the hour that began then. */
  readonly hour?: { readonly at: number; readonly made: number } | undefined;
  /** What the next digest has. */
  readonly digest?: StoredDigest | undefined;
  readonly digestMessage?: StoredDigestMessage | undefined;
  /** Problems beyond the bound, as the last digest has them. */
  readonly beyond?: number | undefined;
  readonly lastDeliveredAt?: number | undefined;
  /** Attempts that failed since then. */
  readonly failures?: number | undefined;
  readonly failingSince?: number | undefined;
  /** Why the last attempt failed, as a constant; never a text of the sink. */
  readonly failure?: string | undefined;
  /** Messages that were given up. */
  readonly dropped?: number | undefined;
}

/** What its document decides about announcements. */
export interface NotificationTerms {
  /** Default: by severity. */
  readonly afterSeconds?: number | undefined;
  readonly repeatHours: number;
  readonly maxPerHour: number;
}

/** Of which objects. Absent: of all. */
export interface NotificationMatch {
  /** Absent: its own. */
  readonly namespaces?: readonly string[] | undefined;
  readonly kinds?: readonly string[] | undefined;
  readonly reasons?: readonly string[] | undefined;
  readonly severities?: readonly Severity[] | undefined;
  readonly labels?: LabelSelector | undefined;
}

/** A key of a Secret of the same namespace. */
export interface SecretKey {
  readonly name: string;
  readonly key: string;
}

export interface SinkReference {
  readonly form: 'webhook' | 'slack';
  readonly url: SecretKey;
  readonly signingKey?: SecretKey | undefined;
}

export interface Announcing {
  readonly terms: NotificationTerms;
  readonly match: NotificationMatch;
  readonly sink: SinkReference;
}
