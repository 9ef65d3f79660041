/** What an API server was asked for by an operator: the same counts, whichever server it is. */

/** Requests since the last question. */
export interface Asked {
  readonly reads: number;
  /** Status of everything but Accounts. */
  readonly statusWrites: number;
  /** Of our kinds, beside their status. */
  readonly finalizerWrites: number;
  /** Status and finalizer. */
  readonly accountWrites: number;
  readonly eventWrites: number;
  /** Leases and the Secret of the operator. */
  readonly otherWrites: number;
  /** Of all of these writes, those that were refused with 409. */
  readonly conflicts: number;
}

export interface CountedRequests {
  readonly isWrite: boolean;
  readonly group: string;
  readonly plural: string;
  readonly subresource: string;
  readonly status: number;
  readonly count: number;
}

type Count = Exclude<keyof Asked, 'reads' | 'conflicts'>;

export function askedIn(requests: Iterable<CountedRequests>): Asked {
  const asked = {
    reads: 0,
    statusWrites: 0,
    finalizerWrites: 0,
    accountWrites: 0,
    eventWrites: 0,
    otherWrites: 0,
    conflicts: 0,
  };
  for (const request of requests) {
    asked[request.isWrite ? countOf(request) : 'reads'] += request.count;
    if (request.isWrite && request.status === 409) asked.conflicts += request.count;
  }
  return asked;
}

function countOf({ group, plural, subresource }: CountedRequests): Count {
  if (plural === 'events') return 'eventWrites';
  if (group !== 'fleetkeeper.dev') return 'otherWrites';
  if (plural === 'accounts') return 'accountWrites';
  return subresource === 'status' ? 'statusWrites' : 'finalizerWrites';
}
