import { expect, test } from 'vitest';
import { EventLog } from '../../../src/control-plane/domain/events.ts';
import { Store } from '../../../src/control-plane/store/store.ts';
import { ManualClock } from '../../support/manual-clock.ts';

test('the newest 500 events of a service are kept, and not many more', () => {
  const store = new Store(':memory:');
  const log = new EventLog(store, new ManualClock());
  const add = (serviceId: string, count: number) =>
    store.unit.run(() => {
      for (let n = 1; n <= count; n += 1) log.add(serviceId, `event ${n}`);
    });
  add('busy', 12_345);
  add('quiet', 3);
  const kept = store.database.all('SELECT service_id, message FROM events ORDER BY service_id, n DESC');
  const busy = kept.filter((row) => row['service_id'] === 'busy');
  expect(kept.length - busy.length).toBe(3);
  expect(busy.length).toBeGreaterThanOrEqual(500);
  expect(busy.length).toBeLessThan(550);
  expect(busy.slice(0, 2).map((row) => row['message'])).toEqual(['event 12345', 'event 12344']);
  store.close();
});
