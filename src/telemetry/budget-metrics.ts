/** Metrics of Budgets. */
import { Gauge, type Registry } from 'prom-client';

const labelNames = ['budget'] as const;

export function budgetMetrics(registers: Registry[]) {
  const gauge = (name: string, help: string) =>
    new Gauge({ name: `fleetkeeper_budget_${name}`, help, labelNames, registers });
  return {
    budgetHourly: gauge(
      'hourly_micros',
      'What the members of a budget cost, in micro-USD per hour. Of each budget (`namespace/name`) for the first 200 by name, and of all others together as `other`; so are all metrics of budgets.',
    ),
    budgetHourlyLimit: gauge(
      'limit_hourly_micros',
      'What they may cost in an hour (hourlyMicros), in micro-USD; absent without that limit.',
    ),
    budgetReserved: gauge(
      'reserved_micros',
      'What was requested for members and is not shown yet, or is kept for lost ones, in micro-USD per hour.',
    ),
    budgetSpent: gauge('month_spent_micros', 'What the members have cost in this month, in micro-USD.'),
    budgetMonthLimit: gauge(
      'month_limit_micros',
      'What they may cost in a month (monthlyMicros), in micro-USD; absent without that limit.',
    ),
    budgetUnpriced: gauge('unpriced_objects', 'Members that cost something and show no price.'),
    budgetWaiting: gauge('waiting_objects', 'Objects that wait for the budget.'),
    budgetShed: gauge(
      'shed_objects',
      'Services and fleets that are stopped, or have fewer replicas, to stay within the budget.',
    ),
  };
}
