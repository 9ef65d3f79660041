/** Reasons of conditions other than `Ready`, and of Events. */
import { event, fact } from './entry.ts';

export const factReasons = {
  Done: fact('`Reconciling` is False: nothing is left to be done.'),
  Stalled: fact('`Reconciling` is False: a person has to change something first. See `Stalled`.'),
  NotStalled: fact('`Stalled` is False: nobody has to do anything.'),
  ProgressDeadlineExceeded: fact('`Stalled` is True: the provider has taken longer than 30 minutes.', {
    severity: 'warning',
    whose: 'provider',
    remedy: 'Fleetkeeper continues to wait. Ask the provider.',
  }),
  AsDesired: fact('`Synced` is True: no field differs.'),
  Differs: fact('`Synced` is False: the message names the fields that differ.'),
  NotCompared: fact('`Synced` is Unknown: there was nothing to compare yet.'),
  DriftReported: fact('`Synced` is False: somebody changed it, and `driftPolicy: Report` leaves it so.', {
    severity: 'warning',
    whose: 'user',
    remedy: 'Restore the field, write it into the document, or use `driftPolicy: Correct`.',
    see: 'concepts/drift.md',
  }),
  DriftAccepted: fact('`Synced` is False: the drift is accepted until the time in `accept-drift-until`.', {
    see: 'reference/annotations.md',
  }),
  NoDrift: fact('`Drifted` is False: nobody else changed a field.'),
  ChangedElsewhere: fact('`Drifted` is True: somebody else changed the fields in the message.', {
    severity: 'warning',
    see: 'concepts/drift.md',
  }),
  RevisionMoved: fact('`Drifted` is True: somebody else changed something that the API does not show.', {
    severity: 'warning',
    see: 'concepts/drift.md',
  }),
  Accepted: fact('`Drifted` is True: a person accepts the drift until the time in the message.', {
    see: 'reference/annotations.md',
  }),
  ActivityUnreleased: fact('`Protected` is True: the message names the activity or ProtectedTask.'),
  AwaitingEvidence: fact('`OutcomeUnknown` is True: Fleetkeeper looks for evidence of the outcome.', {
    severity: 'warning',
    see: 'concepts/unknown-outcomes.md#operator-confirmation',
  }),
  MarkFoundElsewhere: fact('`Duplicated` is True: something else carries the mark of the object.', {
    severity: 'warning',
    whose: 'user',
    remedy: 'The message shows which one, and what to do. Fleetkeeper never changes it.',
  }),
  NotApplicable: fact('The condition was True before, and does not apply any more.'),
  EnoughAvailable: fact('`Available` is True: no fewer replicas are available than the fleet allows.'),
  TooFewAvailable: fact('`Available` is False: fewer replicas are available than the fleet allows.', {
    severity: 'warning',
    see: 'concepts/fleets.md',
  }),
  Exists: fact('`Accepted` is True: the API has accepted the object.'),
  ComputeHeld: fact('`Allocated` is True: the provider holds compute for the service.'),
  StorageHeld: fact('`Allocated` is True: the provider holds the storage of the volume.'),
  NotAllocated: fact('`Allocated` is False: the message has the state of the service or volume.'),
  Allowed: fact('`SpendingAllowed` is True: what costs more may be created, started and grown.'),
  AsTaken: fact('`TemplateOutdated` is False: the template gives what the service took from it.'),
  TemplateChanged: fact('`TemplateOutdated` is True: the template gives other values now.', {
    whose: 'user',
    remedy: 'Use `templateUpdates: Apply` to take them over.',
    see: 'how-to/change-services.md#services-and-their-templates',
  }),
  TemplateMissing: fact('`TemplateOutdated` is Unknown: the template of the service is gone.', {
    severity: 'warning',
    whose: 'user',
    remedy: 'Add the template, or remove `templateRef` from the service.',
  }),
} as const;

export const eventReasons = {
  Created: event('A creation succeeded.'),
  Patched: event('A change of the service succeeded.'),
  Resized: event('A change of the resources succeeded.'),
  Started: event('A start succeeded.'),
  Restarted: event('A restart succeeded.'),
  SleepPolicySet: event('A change of the sleep policy succeeded.'),
  Updated: event('A change of the volume succeeded.'),
  Replaced: event('A change of the template succeeded.'),
  CredentialsRotated: event('A change of the credentials of the registry succeeded.'),
  Changed: event('A request of an action that this version does not know succeeded.'),
  NotApplied: event('Evidence shows that a request with an unknown outcome had no effect.'),
  Outdated: event('A request with an unknown outcome cannot take effect any more: its revision has moved.'),
  Repeatable: event('A request with an unknown outcome is sent again, with the same Idempotency-Key.'),
  Duplicated: event('Something else carries the mark of the object.', {
    severity: 'warning',
    whose: 'user',
    remedy: 'The message shows which one, and what to do. Fleetkeeper never changes it.',
  }),
  Drifted: event('Somebody else changed the fields in the message.', {
    severity: 'warning',
    see: 'concepts/drift.md',
  }),
  ChildEdited: event('Somebody edited the spec of a replica, and it is applied again.', {
    severity: 'warning',
    whose: 'user',
    remedy: 'Edit the template of its ServiceFleet.',
    see: 'concepts/fleets.md#in-a-cluster',
  }),
  ChildRefused: event('The API server refuses what the ServiceFleet requires of a replica.', {
    severity: 'warning',
    whose: 'user',
    remedy: 'Correct in the template what the message names.',
    see: 'concepts/fleets.md#in-a-cluster',
  }),
  RolloutComplete: event('All replicas of the ServiceFleet have its revision, and it is healthy.', {
    announced: true,
    see: 'concepts/fleets.md#rollout',
  }),
  RevisionFailed: event(
    'The revision in the message failed. `RolledBack` is True when the replicas have another one.',
    {
      also: ['fact'],
      severity: 'warning',
      whose: 'user',
      announced: true,
      remedy: 'Change the template.',
      see: 'concepts/fleets.md#failure',
    },
  ),
  SheddingSoon: event(
    'A limit of the Budget is passed. The services in the message are stopped if it stays so.',
    {
      also: ['fact'],
      severity: 'warning',
      whose: 'user',
      announced: true,
      remedy: 'Make things smaller or fewer, or raise the limit.',
      see: 'concepts/money.md#shedding',
    },
  ),
  NothingShed: fact('`Shedding` is False: nothing is stopped for the Budget.'),
  Shedding: fact('`Shedding` is True: a limit is passed, and services are stopped.', {
    severity: 'warning',
    whose: 'user',
    see: 'concepts/money.md#shedding',
  }),
  Resuming: fact(
    '`Shedding` is True: no limit is passed, and what was stopped comes back when there is room.',
    {
      see: 'concepts/money.md#shedding',
    },
  ),
  OverspendAllowed: event('An object does not wait for the Budget, by `allow-overspend-until`.', {
    severity: 'warning',
    whose: 'user',
    see: 'concepts/money.md#budgets',
  }),
  BudgetNearLimit: event('A threshold of `warnAt` of the Budget is reached.', {
    severity: 'warning',
    whose: 'user',
    announced: true,
    see: 'concepts/money.md#budgets',
  }),
  BudgetPassed: event(
    'A limit of the Budget is passed: prices rose, others made something, or the limit was lowered.',
    {
      severity: 'critical',
      whose: 'user',
      announced: true,
      remedy: 'Make things smaller or fewer, or raise the limit.',
      see: 'concepts/money.md#budgets',
    },
  ),
  WithinLimits: fact('`WithinBudget` is True: no limit is near.'),
  NearLimit: fact('`WithinBudget` is True, and a threshold of `warnAt` is reached.', {
    severity: 'warning',
    see: 'concepts/money.md#budgets',
  }),
  Exceeded: fact('`WithinBudget` is False: the message has the limits that are passed.', {
    severity: 'critical',
    whose: 'user',
    see: 'concepts/money.md#budgets',
  }),
  AccountUnreadable: fact('`WithinBudget` is Unknown: an account that it is about can not be read.', {
    severity: 'warning',
  }),
  PolicyWarning: event('A rule of the policy (`--policy`) warns of what is done. It is done all the same.', {
    severity: 'warning',
    whose: 'user',
    see: 'how-to/policy.md',
  }),
  PriceMoved: event('Something in the account costs more or less than before.', {
    severity: 'warning',
    whose: 'provider',
    see: 'concepts/money.md#prices',
  }),
  PriceNotShown: event('Something in the account shows no price, and counts as 0 against the floor.', {
    severity: 'warning',
    whose: 'user',
    remedy: 'Give its price in `prices` of the Account.',
    see: 'concepts/money.md#prices',
  }),
} as const;
