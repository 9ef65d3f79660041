/** What a pass of a Notification needs of the process that delivers its messages (manager/notices/). */
import type { ObjectKey } from '../../resources/index.ts';
import type { AnnouncementEvent } from './announcements.ts';
import type { Trouble } from './trouble.ts';

export interface NoticeView {
  /** All that it may announce, by hash. */
  readonly troubles: ReadonlyMap<string, Trouble>;
  /** Since the last pass that was saved. */
  readonly events: readonly AnnouncementEvent[];
  /** It names namespaces that it may not see. */
  readonly seesTooMuch: boolean;
  /** Older Notifications of its namespace are as many as there may be. */
  readonly isCrowded: boolean;
  /** What is wrong with the address of its sink, as far as its text, or the last attempt, shows. */
  readonly addressProblem: string | undefined;
}

export interface Notices {
  /** Undefined: this process announces nothing, or does not know all objects yet. */
  of(key: ObjectKey): NoticeView | undefined;
}

/** For a preview, and for a process that ends by itself. */
export const noNotices: Notices = { of: () => undefined };

/** In a namespace. The youngest ones beyond it are held. */
export const notificationsAtMost = 20;
