/** What passes need of the keeper of activities; the manager makes it. */
import type { ControlApi } from '../api/index.ts';
import type { ObjectKey } from '../resources/index.ts';

/** What is to be kept. */
export interface WantedRegistration {
  /** `namespace/name`: registrations of one account share its pace. */
  readonly account: string;
  readonly api: Pick<ControlApi, 'recordActivity' | 'activities' | 'heartbeatWaits'>;
  readonly serviceId: string;
  /** The same for register, beats and release (§4 rule 6). */
  readonly activityId: string;
  readonly name: string;
  readonly wanted: 'held' | 'released';
  readonly releaseKey: string;
  /** No request for it can have been sent before. */
  readonly isNew: boolean;
  /** For how long the list of activities may lack what was registered, in milliseconds. */
  readonly visibilityMs: number;
}

/** What is known of it. Times are monotonic milliseconds. */
export interface KeptRegistration {
  readonly phase: 'registering' | 'held' | 'releasing' | 'released' | 'spent';
  readonly expiresAtMs: number | undefined;
  readonly failure: string | undefined;
  /** The status with which the newest request was refused, if it was. */
  readonly refusedWith: number | undefined;
}

export interface ActivityRegistrations {
  /** Sees to the lease from now on, and tells how it stands. */
  keep(key: ObjectKey, lease: WantedRegistration): KeptRegistration;
  /** Nothing is sent for it any more; what was registered stays registered. */
  drop(key: ObjectKey): void;
}
