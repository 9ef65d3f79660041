/** Metrics of problems, and of Notifications that announce them. */
import { Counter, Gauge, type Registry } from 'prom-client';

export function notificationMetrics(registers: Registry[]) {
  return {
    notifications: new Counter({
      name: 'fleetkeeper_notifications_total',
      help: 'Messages of Notifications (delivered, dropped: given up), and attempts that failed (failed).',
      labelNames: ['outcome'],
      registers,
    }),
    notificationQueue: new Gauge({
      name: 'fleetkeeper_notification_queue',
      help: 'Messages of Notifications that wait, or are under way.',
      registers,
    }),
    problemsOpen: new Gauge({
      name: 'fleetkeeper_problems_open',
      help: 'Objects with a problem that is open, by severity, as /api/v1/problems and the page have them; with or without a Notification.',
      labelNames: ['severity'],
      registers,
    }),
  };
}
