import { z } from 'zod';
import { constrained, given, listOf } from '../../resources/parts/constraints.ts';
import {
  accountRef,
  adopt,
  command,
  dataKey,
  deletionPolicy,
  driftPolicy,
  geography,
  httpPort,
  image,
  kindSchema,
  longestText,
  nameRef,
  objectName,
  region,
  resources,
  sleepAfterMinutes,
  uuid,
  variableName,
} from '../../resources/parts/fields.ts';
import { disruptionWindow } from '../../resources/parts/windows.ts';

// ---- environment -------------------------------------------------------------------------------------

const keyRef = z.strictObject({
  name: objectName.describe('Its name, in the same namespace.'),
  key: dataKey.describe('The key whose value is taken.'),
  optional: z.boolean().default(false).describe('It may be missing; the variable is then left out.'),
});

/** The start of the beacon's name; nobody else may set such a variable. */
export const beaconPrefix = 'FLEETKEEPER_BEACON_';

const valueFrom = constrained(
  z.strictObject({
    secretKeyRef: keyRef.optional().describe('A key of a Secret.'),
    configMapKeyRef: keyRef.optional().describe('A key of a ConfigMap.'),
  }),
  {
    holds: (from) => (from.secretKeyRef === undefined) !== (from.configMapKeyRef === undefined),
    rule: 'has(self.secretKeyRef) != has(self.configMapKeyRef)',
    schema: given.exactlyOneOf('secretKeyRef', 'configMapKeyRef'),
    message: 'needs exactly one of secretKeyRef and configMapKeyRef',
  },
);

const environmentEntry = constrained(
  z.strictObject({
    name: constrained(variableName, {
      holds: (name) => !name.startsWith(beaconPrefix),
      rule: `!self.startsWith('${beaconPrefix}')`,
      schema: (errorMessage) => ({ pattern: `^(?!${beaconPrefix})`, errorMessage }),
      message: `names starting with ${beaconPrefix} are fleetkeeper's own`,
    }).describe('Name of the variable.'),
    value: z
      .string({ error: 'must be a string; quote numbers and booleans' })
      .max(longestText)
      .optional()
      .describe('Its value; $(NAME) is not expanded. Without value and valueFrom it is empty.'),
    valueFrom: valueFrom.optional().describe('Where its value is taken from.'),
  }),
  {
    holds: ({ value, valueFrom: from }) => value === undefined || from === undefined,
    rule: '!has(self.value) || !has(self.valueFrom)',
    schema: given.notTogether('value', 'valueFrom'),
    message: 'value and valueFrom exclude each other',
  },
);

const environment = z
  .array(environmentEntry)
  .max(1024)
  .superRefine((entries, context) => {
    const seen = new Set<string>();
    for (const [index, { name }] of entries.entries()) {
      if (seen.has(name)) {
        const message = `the variable ${name} is given twice`;
        context.addIssue({ code: 'custom', path: [index, 'name'], message });
      }
      seen.add(name);
    }
  })
  .meta(listOf.entriesBy('name'));
export type EnvironmentEntry = z.infer<typeof environmentEntry>;

// ---- storage -----------------------------------------------------------------------------------------

const storage = constrained(
  z.strictObject({
    volumeRef: nameRef
      .optional()
      .describe('A StorageVolume of the same region. While another service has it, the creation waits.'),
    volumeId: uuid.optional().describe('The id of an independent volume at the provider.'),
    volumeGb: z
      .int()
      .min(10)
      .max(4096)
      .optional()
      .describe('Size in GB of storage that is made with the service (§8).'),
    volumeMode: z
      .string()
      .min(1)
      .max(63)
      .optional()
      .describe(
        'Of storage made with the service: independent outlives it; default: it belongs to the service, and is deleted with it.',
      ),
  }),
  {
    holds: ({ volumeRef, volumeId, volumeGb }) =>
      [volumeRef, volumeId, volumeGb].filter((part) => part !== undefined).length === 1,
    rule: '(has(self.volumeRef) ? 1 : 0) + (has(self.volumeId) ? 1 : 0) + (has(self.volumeGb) ? 1 : 0) == 1',
    schema: given.exactlyOneOf('volumeRef', 'volumeId', 'volumeGb'),
    message: 'needs exactly one of volumeRef, volumeId and volumeGb',
  },
  {
    holds: ({ volumeGb, volumeMode }) => volumeMode === undefined || volumeGb !== undefined,
    rule: '!has(self.volumeMode) || has(self.volumeGb)',
    schema: given.only('volumeMode', 'volumeGb'),
    message: 'is for volumeGb only',
    field: 'volumeMode',
  },
);

// ---- conduct -----------------------------------------------------------------------------------------

/** A probe of the service's endpoint, in addition to the state that the API shows. */
const readiness = z.strictObject({
  path: z
    .string()
    .max(1024)
    .regex(/^\/[\x21-\x7e]*$/, 'must start with "/" and hold no blanks')
    .describe('Path of the endpoint that must answer 200 to 399.'),
  periodSeconds: z.int().min(1).max(3600).default(10).describe('How often it is asked, in seconds.'),
  timeoutSeconds: z.int().min(1).max(60).default(5).describe('How long it may take to answer, in seconds.'),
});

/** Restarts of a service in `error`, at most so many in a row; without it, or with 0, it is only reported. */
const onError = z.strictObject({
  restarts: z
    .int()
    .min(0)
    .max(100)
    .default(3)
    .describe(
      'Restarts in a row, with growing pauses; 0: none. Ten minutes as desired start the count anew.',
    ),
});

export const templateOr = "default the template's, else";

export const containerServiceFields = z.strictObject({
  accountRef,
  serviceName: z
    .string()
    .min(1)
    .max(253)
    .optional()
    .describe('Its name at the provider; default metadata.name; fixed once it exists.'),
  region,
  geography,
  /** Absent, like the fields that follow it: what the template gives, or not managed. */
  image: image.optional().describe(`Image reference; ${templateOr} required.`),
  command: command.optional().describe(`Command and arguments; ${templateOr} not managed.`),
  resources: resources
    .optional()
    .describe(`What it runs with, changed by a resize as a whole; ${templateOr} required.`),
  httpPort: httpPort
    .optional()
    .describe(`The port that it serves; with one it has an endpoint; ${templateOr} not managed.`),
  sleepAfterMinutes: sleepAfterMinutes
    .optional()
    .describe(
      `Idle minutes after which it sleeps, 1 to 1440; 0: never; ${templateOr} not managed. ` +
        'A null means never, too.',
    ),
  env: environment.optional().describe('If given, the whole environment, as in a Pod; default not managed.'),
  storage: storage.optional().describe('Exactly one kind of storage; default none; fixed once it exists.'),
  templateRef: nameRef
    .optional()
    .describe('A ServiceTemplate, or a built-in one, whose values it takes when it is created.'),
  templateUpdates: z
    .enum(['Ignore', 'Apply'])
    .default('Ignore')
    .describe('What becomes of the service when its template changes: nothing, or it follows.'),
  desiredState: z
    .enum(['Running', 'Stopped'])
    .default('Running')
    .describe('Running may be asleep under its sleep policy; Stopped exists and is paused.'),
  restartToken: z.string().max(1024).optional().describe('A new value asks for one restart.'),
  readiness: readiness
    .optional()
    .describe('A probe of its endpoint; default: it is ready when it runs and has its endpoint.'),
  disruption: z
    .enum(['WhenUnprotected', 'Never', 'Always'])
    .default('WhenUnprotected')
    .describe(
      'Whether what runs may be stopped, restarted, resized, patched or deleted: not while an activity in it is unreleased, never, or always.',
    ),
  disruptionWindows: z
    .array(disruptionWindow)
    .min(1)
    .max(32)
    .meta(listOf.whole)
    .optional()
    .describe('The only times at which what runs may be interrupted; default any time.'),
  onError: onError.optional().describe('Restarts of a service in error; default: it is only reported.'),
  driftPolicy,
  replacement: z
    .enum(['Never', 'Recreate'])
    .default('Never')
    .describe(
      'A change of serviceName, region, geography or storage is refused (Never), or made by deleting the service and creating it anew (Recreate).',
    ),
  deletionPolicy: deletionPolicy
    .default('Delete')
    .describe('What becomes of the service when this object is deleted: it is deleted, or stays, unmanaged.'),
  adopt,
});

/** Neither image nor template: nobody could say what is to run. */
export const givenOrTaken = (['image', 'resources'] as const).map((field) => ({
  holds: (spec: Partial<Pick<z.output<typeof containerServiceFields>, typeof field | 'templateRef'>>) =>
    spec[field] !== undefined || spec.templateRef !== undefined,
  rule: `has(self.${field}) || has(self.templateRef)`,
  schema: given.anyOf(field, 'templateRef'),
  message: `is missing; add it (${field === 'image' ? 'a text' : 'a map with cpu and memoryGb'}), or a \`templateRef\` whose template gives it`,
  field,
}));

const containerServiceSpec = constrained(containerServiceFields, ...givenOrTaken);
export type ContainerServiceSpec = z.infer<typeof containerServiceSpec>;

export const containerServiceDocument = kindSchema(
  'ContainerService',
  containerServiceSpec,
  'A container, or a group of them, that runs at the provider.',
);
