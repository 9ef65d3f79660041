/**
 * Which fields of each kind of answer the client reads, in which forms (field-forms.ts), and which of them decide
 * (reading.ts).
 */
import * as form from './field-forms.ts';
import { isObject, type FieldReader, type FieldReaders, type Fields } from './reading.ts';

const informs = (
  read: FieldReader['read'],
  expected: string,
  more: Partial<FieldReader> = {},
): FieldReader => ({
  read,
  expected,
  ...more,
});
const decides = (
  read: FieldReader['read'],
  expected: string,
  more: Partial<FieldReader> = {},
): FieldReader => ({
  read,
  expected,
  decides: true,
  ...more,
});
const mayBeNull = { mayBeNull: true } as const;

const revision = decides(form.revision, 'an integer greater than 0 (§2)');
const name = informs(form.text, 'a text');
const price = informs(form.price, `micro-USD per hour, at most ${form.highestPrice}`, mayBeNull);
const failure = informs(form.reason, 'a text, or an object with code and message', mayBeNull);
const geography = { aliases: ['resolvedGeography'], ...mayBeNull };
const resourcesExpected = `{gpuCount, cpu, memoryGb}, each a number (§2) of at most ${form.largestSize}`;
const sizeExpected = `GB, a number of at most ${form.largestSize}`;

/** The mark of an owner in a form that can't be read: whose the object is, is not known. */
const holds = (mark: RegExp) => (value: unknown) => mark.test(JSON.stringify(value) ?? '');

export const serviceFields: FieldReaders = {
  name,
  state: decides(form.state, 'a text'),
  revision,
  resources: decides(form.resources, resourcesExpected, mayBeNull),
  region: informs(form.text, 'a text', mayBeNull),
  geography: informs(form.text, 'a text', geography),
  image: decides(form.plainText, 'a text', mayBeNull),
  command: informs(form.command, 'a list of texts', mayBeNull),
  httpPort: informs(form.port, 'a port number', mayBeNull),
  endpoint: informs(form.endpoint, 'an address', mayBeNull),
  environmentNames: informs(form.variableNames, 'names of variables', {
    // The contract gives the field no name (§2 "Known fields").
    aliases: ['environment', 'environmentVariables', 'environmentVariableNames', 'envNames', 'env'],
    decides: holds(/FLEETKEEPER_BEACON_/i),
    isPrivate: true,
    ...mayBeNull,
  }),
  volumeId: decides(form.reference, 'the id of a volume', mayBeNull),
  sleepAfterMinutes: informs(form.minutes, 'minutes', mayBeNull),
  hourlyMicros: price,
  error: failure,
};

export const volumeFields: FieldReaders = {
  name: decides(form.text, 'a text'),
  mode: decides(form.word, 'a text', mayBeNull),
  serviceId: decides(form.reference, 'the id of a service', mayBeNull),
  status: decides(form.state, 'a text'),
  revision,
  region: informs(form.text, 'a text', mayBeNull),
  geography: informs(form.text, 'a text', geography),
  sizeGb: informs(form.size, sizeExpected, mayBeNull),
  requestedSizeGb: informs(form.size, sizeExpected, mayBeNull),
  provisioned: informs(form.flag, 'true or false', mayBeNull),
  hourlyMicros: price,
  error: failure,
};

/** Nearly all decide: a replacement sends back what is there (§2 "Template update body"), and must not lose it. */
export const templateFields: FieldReaders = {
  name: decides(form.text, 'a text'),
  revision,
  builtIn: informs(form.flag, 'true or false', mayBeNull),
  description: decides(form.anyText, 'a text', mayBeNull),
  image: decides(form.plainText, 'a text', mayBeNull),
  command: decides(form.texts, 'a list of texts', mayBeNull),
  resources: decides(form.wholeResources, resourcesExpected, mayBeNull),
  httpPort: decides(form.port, 'a port number', mayBeNull),
  containerDiskGb: decides(form.size, sizeExpected, mayBeNull),
  workspaceGb: decides(form.size, sizeExpected, mayBeNull),
  sleepAfterMinutes: decides(form.minutes, 'minutes', mayBeNull),
  requiredEnvironment: decides(form.variableNames, 'names of variables', mayBeNull),
};

export const registryFields: FieldReaders = {
  repository: decides(form.plainText, 'a text'),
  revision,
  linkedServices: decides(readLinked, 'a list of services', {
    // Their number shows nothing about any of them.
    decides: (value) => typeof value !== 'number',
    ...mayBeNull,
  }),
};

/** Ids, or records with one; a map of records by id. */
function readLinked(value: unknown): unknown {
  const entries = Array.isArray(value) ? value : isObject(value) ? Object.keys(value) : undefined;
  const read = entries?.map((entry: unknown) => {
    if (typeof entry === 'string') return entry.toLowerCase();
    const id = isObject(entry) ? form.reference(entry['id'] ?? entry['serviceId']) : undefined;
    return isObject(entry) && typeof id === 'string' ? linkedOf(id, entry) : undefined;
  });
  return read?.every((entry) => entry !== undefined) ? read : undefined;
}

function linkedOf(id: string, entry: Readonly<Fields>): Fields {
  return {
    id,
    name: form.text(entry['name']),
    state: form.state(entry['state']),
    usesCurrentCredentials: form.flag(entry['usesCurrentCredentials']),
  };
}

export const ledgerFields: FieldReaders = {
  id: informs(form.text, 'a text'),
  amountMicros: informs(form.micros, 'micro-USD', mayBeNull),
  description: informs(form.text, 'a text', mayBeNull),
  createdAt: informs(form.time, 'a time', { aliases: ['created_at'], ...mayBeNull }),
};

export const activityFields: FieldReaders = {
  id: informs(form.text, 'a text'),
  name,
  released: informs(form.flag, 'true or false', { aliases: ['release'] }),
  fresh: informs(form.flag, 'true or false'),
};

export const eventFields: FieldReaders = {
  message: informs(form.reason, 'a text', { aliases: ['text', 'description'] }),
  created_at: informs(form.time, 'Unix milliseconds (§6)', { aliases: ['createdAt', 'timestamp', 'time'] }),
};
