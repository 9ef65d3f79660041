/** Orders are as if they were sorted anew, whenever they are read, and keep nothing of rows that came and went. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { indexedRow, type IndexedRow } from '../../../src/read-api/fleet/row.ts';
import { SortedRows, sorts } from '../../../src/read-api/fleet/sorted-rows.ts';
import { ready, recordOf, waiting } from './support.ts';

const rowOf = (index: number, isReady: boolean): IndexedRow =>
  indexedRow({
    record: recordOf(`ContainerService/team/web-${index}`, {
      conditions: isReady ? ready : waiting('CapacityUnavailable'),
    }),
    open: undefined,
    isStale: false,
    createdAt: undefined,
  });

const change = fc.record({
  index: fc.nat(30),
  to: fc.constantFrom('ready', 'waiting', 'gone'),
  isRead: fc.boolean(),
});

test.each(sorts)('sorted by %s', (sort) => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 200 }), (changes) => {
      const rows = new Map<number, IndexedRow>();
      const order = new SortedRows(sort, []);
      for (const { index, to, isRead } of changes) {
        const before = rows.get(index);
        const after = to === 'gone' ? undefined : rowOf(index, to === 'ready');
        if (after) rows.set(index, after);
        else rows.delete(index);
        order.change(before, after);
        if (!isRead) continue;
        expect(order.size).toBe(rows.size);
        expect([...order.after(undefined)]).toEqual([
          ...new SortedRows(sort, rows.values()).after(undefined),
        ]);
      }
      expect([...order.after(undefined)]).toEqual([...new SortedRows(sort, rows.values()).after(undefined)]);
    }),
  );
});
