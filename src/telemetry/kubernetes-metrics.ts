/** Metrics of the operator: its Leases, and how it gets on with the Kubernetes API. */
import { Counter, Gauge, type Registry } from 'prom-client';

export function kubernetesMetrics(registers: Registry[]) {
  return {
    kubernetesRequests: new Counter({
      name: 'rest_client_requests_total',
      help: 'Requests to the Kubernetes API by method and status code; <error> when no answer came.',
      labelNames: ['method', 'code'],
      registers,
    }),
    leading: new Gauge({
      name: 'leader_election_master_status',
      help: '1 while this process holds the Lease of this name, 0 while another one does.',
      labelNames: ['name'],
      registers,
    }),
    leaseExpected: new Gauge({
      name: 'fleetkeeper_lease_expected',
      help: '1 for each Lease that some process has to hold: those of all shards, or the only one.',
      labelNames: ['name'],
      registers,
    }),
    leaseIdle: new Gauge({
      name: 'fleetkeeper_lease_idle',
      help: '1 while this process holds the Lease of this name and does nothing, because it has not listed all kinds yet; else 0.',
      labelNames: ['name'],
      registers,
    }),
    watchSilenceSeconds: new Gauge({
      name: 'fleetkeeper_watch_silence_seconds',
      help: 'Seconds since the Kubernetes API last showed something of this resource, bookmarks included. `watched`: in this namespace; empty: in all.',
      labelNames: ['resource', 'watched'],
      registers,
    }),
    watchFailures: new Counter({
      name: 'fleetkeeper_watch_failures_total',
      help: 'Lists and watches of this resource that failed. Each is repeated.',
      labelNames: ['resource'],
      registers,
    }),
    kubernetesEvents: new Counter({
      name: 'fleetkeeper_kubernetes_events_total',
      help: 'Kubernetes Events by outcome: written, dropped (too many of them), failed.',
      labelNames: ['outcome'],
      registers,
    }),
  };
}
