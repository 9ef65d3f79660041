/** What `kubectl get` shows of each kind, its short name, and the fields by which it can be selected. */
import type { ConditionType, ManagedKind } from '../resources/index.ts';

interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'date';
  readonly jsonPath: string;
  readonly description: string;
  /** 1: with `-o wide` only. */
  readonly priority?: 1;
}

interface Presentation {
  readonly shortName: string;
  readonly columns: readonly Column[];
  readonly selectable: readonly string[];
}

function text(name: string, jsonPath: string, description: string): Column {
  return { name, type: 'string', jsonPath, description };
}

function whole(name: string, jsonPath: string, description: string): Column {
  return { name, type: 'integer', jsonPath, description };
}

/** `date` columns are shown as an age. */
function age(name: string, jsonPath: string, description: string): Column {
  return { name, type: 'date', jsonPath, description };
}

function condition(name: string, type: ConditionType, description: string): Column {
  return text(name, `.status.conditions[?(@.type=="${type}")].status`, description);
}

function wide(column: Column): Column {
  return { ...column, priority: 1 };
}

const ready = condition('Ready', 'Ready', 'As declared, and usable.');
const drift = condition('Drift', 'Drifted', 'Somebody else changed it.');
const created = age('Age', '.metadata.creationTimestamp', 'Since the object was created.');
const state = text('State', '.status.state', 'Its state.');
const account = wide(text('Account', '.spec.accountRef.name', 'The Account that it lives in.'));
const id = wide(text('ID', '.status.id', 'Its id at the provider.'));
const reason = wide(
  text('Reason', '.status.conditions[?(@.type=="Ready")].reason', 'Why it is Ready or not.'),
);
const inAccount = ['.spec.accountRef.name', '.status.id'];

export const presentation: Readonly<Record<ManagedKind, Presentation>> = {
  Account: {
    shortName: 'facct',
    columns: [
      ready,
      condition('Spending', 'SpendingAllowed', 'What costs more may be created, started and grown.'),
      whole('Balance', '.status.balanceMicros', 'What is left, in micro-USD.'),
      whole('Services', '.status.services', 'Services in the account, whoever made them.'),
      whole('Volumes', '.status.volumes', 'Volumes in the account, whoever made them.'),
      created,
      wide(text('URL', '.spec.url', 'Base address of the API.')),
      wide(whole('Burn', '.status.burnMicrosPerHour', 'What it costs in an hour, in micro-USD.')),
      wide({
        name: 'Runway',
        type: 'number',
        jsonPath: '.status.runwayHours',
        description: 'For how many hours the balance lasts.',
      }),
      reason,
    ],
    selectable: [],
  },
  ContainerService: {
    shortName: 'csvc',
    columns: [
      state,
      ready,
      text('Endpoint', '.status.endpoint', 'Where it can be reached.'),
      drift,
      created,
      wide(text('Image', '.spec.image', 'Its image.')),
      wide(whole('Hourly', '.status.hourlyMicros', 'What it costs in an hour, in micro-USD.')),
      account,
      id,
      reason,
    ],
    selectable: [
      ...inAccount,
      '.spec.templateRef.name',
      '.spec.storage.volumeRef.name',
      '.spec.desiredState',
      '.status.state',
    ],
  },
  StorageVolume: {
    shortName: 'svol',
    columns: [
      state,
      ready,
      whole('GB', '.status.sizeGb', 'Its size.'),
      drift,
      created,
      wide(whole('Wanted', '.spec.sizeGb', 'The size that it is to have, in GB.')),
      wide(text('Attached', '.status.serviceId', 'The id of the service that it is attached to.')),
      account,
      id,
      reason,
    ],
    selectable: [...inAccount, '.status.state'],
  },
  ServiceTemplate: {
    shortName: 'stpl',
    columns: [ready, text('Image', '.spec.image', 'Its image.'), drift, created, account, id, reason],
    selectable: inAccount,
  },
  ImageRegistry: {
    shortName: 'ireg',
    columns: [
      text('Repository', '.spec.repository', 'The repository that it gives access to.'),
      ready,
      drift,
      age('Rotated', '.status.rotatedAt', 'Since the credentials were rotated.'),
      created,
      account,
      id,
      reason,
    ],
    selectable: [...inAccount, '.spec.repository'],
  },
  ProtectedTask: {
    shortName: 'ptask',
    columns: [
      text('Service', '.spec.serviceRef.name', 'The ContainerService that it protects.'),
      state,
      ready,
      created,
      wide(text('Deadline', '.spec.until.deadline', 'When it is over by itself.')),
      wide(text('Job', '.spec.until.jobRef.name', 'The Job with which it is over.')),
      wide(text('Activity', '.status.activityId', 'The id of its activity at the provider.')),
      reason,
    ],
    selectable: ['.spec.serviceRef.name', '.status.state', '.status.activityId'],
  },
};
