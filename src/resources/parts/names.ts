/** Names that the whole project agrees on. */
export const group = 'fleetkeeper.dev';
export const version = 'v1alpha1';
export const apiVersion = `${group}/${version}`;

export const annotations = {
  /** "true": observe and report, mutate nothing. */
  paused: `${group}/paused`,
  /** A new value requests a recheck now; repeated in `status.lastHandledReconcileAt`. */
  reconcileAt: `${group}/reconcile-at`,
  /** The name at the provider, as confirmation that its data may be lost. */
  confirmDataLoss: `${group}/confirm-data-loss`,
  /** On an object that adopts: the id of the owner whose mark may be overridden. */
  adoptFrom: `${group}/adopt-from`,
  /** An RFC 3339 time until which drift is left as it is. */
  acceptDriftUntil: `${group}/accept-drift-until`,
  /**
   * On an object, or an Account for all in it: an RFC 3339 time until which lower revisions than seen before are
   * accepted.
   */
  acceptRevisionsUntil: `${group}/accept-revisions-until`,
  /**
   * On an object, or an Account for all in it: an RFC 3339 time until which bookkeeping that this operator did not
   * sign is accepted.
   */
  acceptBookkeepingUntil: `${group}/accept-bookkeeping-until`,
  /** On a service: fields that were taken out of its document and that it is to keep, with commas between them. */
  leaveFields: `${group}/leave-fields`,
  /** On an Account: an RFC 3339 time until which a mass change is wanted. */
  allowMassChangeUntil: `${group}/allow-mass-change-until`,
  /**
   * In a cluster: an operator confirmation of a request whose outcome is unknown, as `fleetkeeper resolve` leaves it.
   */
  resolve: `${group}/resolve`,
  /** An operator command: `VERB[:ARGUMENT]@TARGET` (commands.ts). */
  command: `${group}/command`,
  /** On a Job or a Pod of the cluster: the ContainerService that must not be disturbed while it runs. */
  protects: `${group}/protects`,
  /** On an Account: the identity that its key may belong to from now on. */
  acceptIdentity: `${group}/accept-identity`,
  /** On an Account: the origin that its key may be sent to from now on. */
  acceptOrigin: `${group}/accept-origin`,
  /**
   * On what costs something: `0` to `1000`, or `never`. What has more comes first when a budget has not enough for all, and is
   * stopped last.
   */
  shedPriority: `${group}/shed-priority`,
  /** On what costs something: an RFC 3339 time until which no budget makes it wait. */
  allowOverspendUntil: `${group}/allow-overspend-until`,
  /** On what costs something: an RFC 3339 time until which no budget stops it. What is stopped for one is started again. */
  exemptFromSheddingUntil: `${group}/exempt-from-shedding-until`,
  /** On a replica in a cluster: `true`, it is removed before others. */
  retireFirst: `${group}/retire-first`,
  /** On a Secret: the only origins that it may be sent to, with blanks or commas between them. */
  allowedOrigins: `${group}/allowed-origins`,
} as const;

/** Those whose value is a time. */
export const timeAnnotations: readonly string[] = [
  annotations.acceptDriftUntil,
  annotations.acceptRevisionsUntil,
  annotations.acceptBookkeepingUntil,
  annotations.allowMassChangeUntil,
  annotations.allowOverspendUntil,
  annotations.exemptFromSheddingUntil,
];

/** Keeps an object in the cluster until what it stands for has been seen to. */
export const cleanupFinalizer = `${group}/cleanup`;

/** On what an object owns in a cluster: the name of its owner. */
export const ownerLabel = `${group}/fleet`;
