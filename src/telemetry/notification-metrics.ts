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
    managerImpaired: new Gauge({
      name: 'fleetkeeper_manager_impaired',
      help: 'Whether something keeps the manager of a folder from working on all of its fleet (1) or not (0): the folder (SourceUnreadable), the disk of the state file (StateNotWritable), or the state file was moved, deleted or replaced (StateFileReplaced).',
      labelNames: ['cause'],
      registers,
    }),
    problemsOpen: new Gauge({
      name: 'fleetkeeper_problems_open',
      help: 'Problems that are open, by severity, as /api/v1/problems and the page count them: objects, places in documents that are none of a known object, and what impairs the manager; with or without a Notification.',
      labelNames: ['severity'],
      registers,
    }),
  };
}
