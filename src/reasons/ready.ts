/** Reasons of `Ready=True`, and of requests that are sent. */
import { doing, ready } from './entry.ts';

export const readyReasons = {
  Running: ready('The service runs, and has the endpoint that it should have.'),
  Stopped: ready('The service is stopped, as `desiredState: Stopped` requires.', { also: ['event'] }),
  Sleeping: ready('The service is asleep under its sleep policy.', { also: ['fact'] }),
  Provisioned: ready('The volume exists, in its full size.'),
  Available: ready('The template or the registry exists, for services to use.'),
  Connected: ready('The account was read with a key that the API accepts.'),
  SharedAccount: ready('The account was read, and another Account is the same one at the provider.', {
    see: 'how-to/run-in-a-cluster.md#namespaces-and-accounts',
  }),
  Held: ready('The activity of the task is registered, and its heartbeats arrive.', {
    freshness: 'fresh, held since',
  }),
  AllAvailable: ready('All replicas of the fleet are available.'),
  Counted: ready('The budget counts what it is about.'),
  Delivering: ready('Problems are announced to the sink of the Notification.'),
  Released: ready('The task is over, and its activity is released.'),
  InSync: ready('Nothing is left to be done. In metrics only.'),
} as const;

export const doingReasons = {
  Create: doing('It does not exist yet, and is created.'),
  SpecChanged: doing('The document has changed, and the change is applied.'),
  CredentialsChanged: doing('The credentials in the Secret have changed, and are sent to the registry.'),
  Adopted: doing('The registry was adopted, and gets the credentials of its document.'),
  Drift: doing('Somebody else changed it, and it is restored.', { see: 'concepts/drift.md' }),
  Vanished: doing('Somebody else deleted it, and it is created again.', { see: 'concepts/drift.md' }),
  Replace: doing('A fixed field has changed: it is deleted and created again.', {
    see: 'how-to/change-services.md#replacement',
  }),
  VolumeExpansion: doing('The service is paused, so that its volume can grow.'),
  Shed: doing('A limit of a Budget with `mode: Shed` is passed, so the service is stopped.', {
    see: 'concepts/money.md#shedding',
  }),
  ShedEnded: doing('The service was stopped for a Budget, and is started again.', {
    see: 'concepts/money.md#shedding',
  }),
  NeverSleeps: doing('The sleep policy is removed, as the document requires.'),
  RestartRequested: doing('`restartToken` has a new value, so the service is restarted once.'),
  Remediation: doing('The service is in error, and `onError` allows a restart.'),
  Deleted: doing('The document was removed, so the thing that it declared is deleted.', { also: ['event'] }),
  ScalingOut: doing('The fleet has too few replicas, and gets more.', { see: 'concepts/fleets.md' }),
  ScalingIn: doing('The fleet has too many replicas. Some drain, or are deleted.', {
    see: 'concepts/fleets.md#scale-in',
  }),
  RollingOut: doing('The template of the fleet has changed. Some replicas are updated.', {
    see: 'concepts/fleets.md#rollout',
  }),
  Repairing: doing('Replicas of the fleet stay broken, and are replaced.', {
    see: 'concepts/fleets.md#repair',
  }),
  Commanded: doing('An operator command is carried out.', { see: 'how-to/run-a-service-fleet.md#commands' }),
  Relocating: doing('Replicas of the fleet can’t be where they are, and are replaced at another candidate.', {
    see: 'concepts/fleets.md#placement',
  }),
  RollingBack: doing(
    'A revision of the fleet failed, or was taken back. Replicas return to an earlier one.',
    {
      see: 'concepts/fleets.md#failure',
    },
  ),
  MovingBack: doing('A replica of the fleet moves to a better candidate.', {
    see: 'concepts/fleets.md#placement',
  }),
  ReplicasFound: doing('The state was lost. Replicas of the fleet are found again by their marks.', {
    see: 'concepts/fleets.md#deletion',
  }),
  Wanted: doing('In a plan: the activity of the task is registered.'),
  Over: doing('In a plan: the activity of the task is released.'),
  Retained: doing(
    'In a plan: the document is gone, and `deletionPolicy: Retain` keeps the thing that it declared.',
  ),
} as const;
