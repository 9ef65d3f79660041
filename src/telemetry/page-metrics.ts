/** Metrics of the read API. */
import { Counter, Gauge, type Registry } from 'prom-client';

export function pageMetrics(registers: Registry[]) {
  return {
    pageRequests: new Counter({
      name: 'fleetkeeper_page_requests_total',
      help: 'Requests to the read API by path (a template, or other) and status code.',
      labelNames: ['path', 'code'],
      registers,
    }),
    pageStreams: new Gauge({
      name: 'fleetkeeper_page_streams',
      help: 'Event streams that are open.',
      registers,
    }),
    pageStreamResets: new Counter({
      name: 'fleetkeeper_page_stream_resets_total',
      help: 'Event streams that were closed because their reader was slow, or not allowed any more (denied), or that could not continue where they were cut (forgotten).',
      labelNames: ['reason'],
      registers,
    }),
    pageDenied: new Counter({
      name: 'fleetkeeper_page_denied_total',
      help: 'Requests to the read API that were denied: host (not one of this server), missing (no token), invalid (not a valid one), unavailable (nobody could be asked).',
      labelNames: ['reason'],
      registers,
    }),
  };
}
