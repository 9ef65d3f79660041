/** Managers that write down something else than they should, or later. */
import { RecordIndexes } from '../../../src/state/record-indexes.ts';
import type { ManagerOptions } from '../../../src/manager/index.ts';
import type { Intent, ObjectRecord } from '../../../src/state/index.ts';
import type { Disk } from '../disk.ts';
import { ourKey } from '../plane.ts';
import { newUuid, withStore, type Mutant, replaced } from './tools.ts';
import { taskPart } from '../../support/kind-state.ts';

export const storage: readonly Mutant[] = [
  {
    breaks: 'an index keeps what was removed',
    foundBy: ['EI1'],
    crowd: 'small',
    seed: 1,
    patch: () =>
      replaced(
        RecordIndexes.prototype,
        'move',
        (move) =>
          function kept(this: RecordIndexes, before, after) {
            if (after) move.call(this, before, after);
          },
      ),
  },
  {
    breaks: 'the intent is not written down',
    foundBy: ['S2'],
    sabotage: withStore((store) => ({
      saveIntent: (intent: Intent, record: ObjectRecord) =>
        intent.outcome === 'pending' ? store.save(record) : store.saveIntent(intent, record),
    })),
  },
  {
    breaks: 'a request is sent before its intent is durable',
    foundBy: ['S2'],
    sabotage: withStore((store) => ({
      saveIntent: async (intent: Intent, record: ObjectRecord) => {
        void store.saveIntent(intent, record);
      },
    })),
  },
  {
    breaks: 'where an activity is registered is not written down first',
    foundBy: ['S2', 'S16'],
    crowd: 'small',
    seed: 3,
    sabotage: withStore((store) => ({
      save: async (record: ObjectRecord) => {
        const { registration } = taskPart(record);
        const isNews = registration && taskPart(store.record(record.key)).registration !== registration;
        if (isNews) void store.save(record);
        else await store.save(record);
      },
    })),
  },
  {
    breaks: 'a task takes a new activity after a restart',
    foundBy: ['S16'],
    crowd: 'small',
    seed: 4,
    sabotage: (options: ManagerOptions, disk: Disk) => {
      // A list of its own: what the loop saves must not change what it walks.
      const records = [...options.store.records()];
      for (const record of records) {
        const { registration, releasedAt } = taskPart(record);
        if (!registration || releasedAt !== undefined) continue;
        const kind = { registration: { ...registration, activityId: newUuid() } };
        const changed = { ...record, kind };
        disk.replace(changed);
        // The disk may be full. What it has is replaced all the same.
        void options.store.save(changed).catch(() => undefined);
      }
      return options;
    },
  },
  {
    breaks: 'an object is forgotten before what it stands for is gone',
    foundBy: ['S13'],
    seed: 107,
    sabotage: withStore((store) => ({
      saveIntent: async (intent: Intent, record: ObjectRecord) => {
        await store.saveIntent(intent, record);
        const isAccepted = intent.action.startsWith('delete-') && intent.outcome === 'applied';
        if (isAccepted && record.deletionRequestedAt !== undefined) await store.remove(record.key);
      },
    })),
  },
  {
    breaks: 'everything is said to be Ready',
    foundBy: ['S12'],
    sabotage: withStore((store) => {
      const ready = (record: ObjectRecord): ObjectRecord => {
        if (!record.status) return record;
        const conditions = record.status.conditions.map((each) =>
          each.type === 'Ready' ? { ...each, status: 'True' as const } : each,
        );
        return { ...record, status: { ...record.status, conditions } };
      };
      return { save: (record: ObjectRecord) => store.save(ready(record)) };
    }),
  },
  {
    breaks: 'what is told of an object has a secret in base64',
    foundBy: ['S10'],
    sabotage: withStore((store) => ({
      save: (record: ObjectRecord) => {
        if (!record.status) return store.save(record);
        const secret = Buffer.from(`it is ${ourKey}`).toString('base64');
        const conditions = record.status.conditions.map((each) => ({ ...each, message: secret }));
        return store.save({ ...record, status: { ...record.status, conditions } });
      },
    })),
  },
  {
    breaks: 'why a service is paused is not written down',
    foundBy: ['S17'],
    seed: 1,
    sabotage: withStore((store) => ({
      saveIntent: (intent: Intent, record: ObjectRecord) =>
        store.saveIntent(intent, { ...record, kind: { ...record.kind, pausedFor: undefined } }),
    })),
  },
  {
    breaks: 'a restart that was made is forgotten',
    foundBy: ['S21'],
    crowd: 'small',
    seed: 10,
    sabotage: withStore((store) => ({
      saveIntent: (intent: Intent, record: ObjectRecord) => {
        const isRestart = intent.action === 'restart-service' && intent.outcome === 'applied';
        return store.saveIntent(intent, isRestart ? { ...record, restartToken: undefined } : record);
      },
    })),
  },
];
