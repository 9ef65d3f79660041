/** What passes need of the heartbeat loop. The manager creates it. */
import type { ControlApi } from '../api/index.ts';
import type { ObjectKey } from '../resources/index.ts';

/** The activity to register. */
export interface WantedRegistration {
  /** `namespace/name`: registrations of one account share its pace. */
  readonly account: string;
  readonly api: Pick<ControlApi, 'recordActivity' | 'activities' | 'heartbeatWaits'>;
  readonly serviceId: string;
  /** The same for registration, heartbeats and release (§4 rule 6). */
  readonly activityId: string;
  readonly name: string;
  readonly wanted: 'held' | 'released';
  readonly releaseKey: string;
  /** No request for it can have been sent before. */
  readonly isNew: boolean;
  /** How long the list of activities may lack a registered one, in milliseconds. */
  readonly visibilityMs: number;
}

/** The state of a registration. Times are monotonic milliseconds. */
export interface KeptRegistration {
  readonly phase: 'registering' | 'held' | 'releasing' | 'released' | 'spent';
  readonly expiresAtMs: number | undefined;
  readonly failure: string | undefined;
  /** The status of the refusal, if the newest request was refused. */
  readonly refusedWith: number | undefined;
  /** Its release was acknowledged, and a list shows it since: it needs another `releaseKey`. */
  readonly isShownAgain: boolean;
}

/**
 * What heartbeats for held activities show of their service, of which reads show nothing, or that it is paused or asleep: one was accepted,
 * they are refused because it is gone, or the next one has to show it.
 */
export type ServiceEvidence = 'accepted' | 'gone' | 'awaited';

export interface ActivityRegistrations {
  /** Registers the activity and sends heartbeats from now on. Returns its state. */
  keep(key: ObjectKey, wanted: WantedRegistration): KeptRegistration;
  /** Nothing is sent for it any more; what was registered stays registered, and what was released stays released. */
  drop(key: ObjectKey): void;
  /** As `drop`, when it is written down that it was released, or the object is gone. */
  forget(key: ObjectKey): void;
  /**
   * The evidence since `sinceMs` (monotonic). Undefined: this process holds no activity there, or its heartbeats fail for another cause. Where
   * it is awaited, the next heartbeat is sent at once.
   */
  evidenceOf(serviceId: string, sinceMs: number): ServiceEvidence | undefined;
}
