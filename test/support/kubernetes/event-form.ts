/** Events have two forms, in the core group and in events.k8s.io. They are stored in the first. */
import { fieldsOf, without, type Fields, type StoredObject } from './objects.ts';

/** `events.k8s.io` → core. */
const names: Readonly<Record<string, string>> = {
  regarding: 'involvedObject',
  note: 'message',
  reportingController: 'reportingComponent',
  deprecatedSource: 'source',
  deprecatedFirstTimestamp: 'firstTimestamp',
  deprecatedLastTimestamp: 'lastTimestamp',
  deprecatedCount: 'count',
};

const coreNames = Object.fromEntries(Object.entries(names).map(([served, stored]) => [stored, served]));

export function storedEvent(event: Fields): Fields {
  return renamed(event, names);
}

export function servedEvent(event: StoredObject): StoredObject {
  return { ...renamed(event, coreNames), metadata: event.metadata };
}

function renamed(event: Fields, table: Readonly<Record<string, string>>): Fields {
  const kept = without(event, ...Object.keys(table));
  for (const [from, to] of Object.entries(table)) {
    if (event[from] !== undefined) kept[to] = event[from];
  }
  return fieldsOf(kept);
}
