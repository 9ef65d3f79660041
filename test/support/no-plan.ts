import type { FleetPlan } from '../../src/manager/index.ts';

/** Of a fleet in which there is nothing to do. */
export const noPlan: FleetPlan = {
  changes: [],
  unclear: [],
  held: [],
  duplicates: [],
  problems: [],
  unreadAccounts: [],
  cost: {
    currency: 'USD',
    nowHourlyMicros: 0,
    thenHourlyMicros: 0,
    deltaHourlyMicros: 0,
    unpriced: 0,
    changes: 0,
  },
  summary: {
    create: 0,
    update: 0,
    replace: 0,
    delete: 0,
    leave: 0,
    held: 0,
    drift: 0,
    duplicates: 0,
    unchanged: 0,
    waiting: 0,
    problems: 0,
  },
};
