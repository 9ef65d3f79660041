/** The kinds' parts of records, for tests that look into them. */
import type { ServiceState, TaskState } from '../../src/resources/index.ts';
import type { ObjectRecord } from '../../src/state/index.ts';

export function taskPart(record: ObjectRecord | undefined): TaskState {
  return record?.kind ?? {};
}

export function servicePart(record: ObjectRecord | undefined): ServiceState {
  return record?.kind ?? {};
}
