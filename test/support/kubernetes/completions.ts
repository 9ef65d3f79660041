/** What the server fills in or refuses in objects of built-in kinds. */
import { fieldError, type FieldError } from './errors.ts';
import { fieldsOf, listOf, textOf, without, type StoredObject } from './objects.ts';

/** Until its content is gone, a namespace is kept by its own kind of finalizer. */
export function completeNamespace(object: StoredObject): StoredObject {
  const { metadata } = object;
  const labels = { ...metadata.labels, 'kubernetes.io/metadata.name': metadata.name };
  return {
    ...object,
    metadata: { ...metadata, labels },
    spec: { finalizers: ['kubernetes'], ...fieldsOf(object['spec']) },
    status: { ...fieldsOf(object['status']), phase: metadata.deletionTimestamp ? 'Terminating' : 'Active' },
  };
}

/** `stringData` is only ever written. */
export function completeSecret(object: StoredObject): StoredObject {
  const data: Record<string, unknown> = { ...fieldsOf(object['data']) };
  for (const [key, value] of Object.entries(fieldsOf(object['stringData']))) {
    data[key] = Buffer.from(String(value)).toString('base64');
  }
  return {
    ...(without(object, 'stringData', 'data') as unknown as StoredObject),
    ...(Object.keys(data).length > 0 && { data }),
    type: object['type'] ?? 'Opaque',
  };
}

export function checkSecret(object: StoredObject): readonly FieldError[] {
  return Object.entries(fieldsOf(object['data']))
    .filter(([, value]) => typeof value !== 'string' || !base64.test(value) || value.length % 4 !== 0)
    .map(([key]) =>
      fieldError('FieldValueInvalid', `data[${key}]`, 'illegal base64 data', '<value omitted>'),
    );
}

const base64 = /^[A-Za-z0-9+/]*={0,2}$/;

export function completePod(object: StoredObject): StoredObject {
  return { ...object, status: { phase: 'Pending', ...fieldsOf(object['status']) } };
}

/** Its addresses, which stay as long as it does. */
export function completeService(object: StoredObject): StoredObject {
  const spec = fieldsOf(object['spec']);
  const number = object.metadata.uid
    .split('')
    .reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 2700, 7);
  const given = spec['type'] === 'NodePort' ? { nodePort: 30_000 + number } : {};
  const ports = listOf(spec['ports']).map((port) => Object.assign({}, fieldsOf(port), given));
  const clusterIP = `10.228.${128 + (number >> 8)}.${number & 255}`;
  return { ...object, spec: { type: 'ClusterIP', clusterIP, ...spec, ...(ports.length > 0 && { ports }) } };
}

export function checkEvent(object: StoredObject): readonly FieldError[] {
  const regarding = fieldsOf(object['involvedObject'])['namespace'] ?? '';
  const { namespace = '' } = object.metadata;
  const matches = regarding === '' ? namespace === 'default' : regarding === namespace;
  return matches
    ? []
    : [
        fieldError(
          'FieldValueInvalid',
          'involvedObject.namespace',
          'does not match event.namespace',
          regarding,
        ),
      ];
}

/** What events.k8s.io asks of an Event, in its stored form. */
export function checkNewEvent(object: StoredObject): readonly FieldError[] {
  const errors: FieldError[] = [...checkEvent(object)];
  const required = {
    eventTime: 'eventTime',
    reportingController: 'reportingComponent',
    reportingInstance: 'reportingInstance',
    action: 'action',
    reason: 'reason',
  };
  for (const [served, stored] of Object.entries(required)) {
    const value = textOf(object[stored]);
    if (value === '') errors.push(fieldError('FieldValueRequired', served, ''));
    else if (value.length > 128) {
      errors.push(fieldError('FieldValueInvalid', served, 'can have at most 128 characters', value));
    }
  }
  if (object['type'] !== 'Normal' && object['type'] !== 'Warning') {
    const type = textOf(object['type']);
    errors.push(fieldError('FieldValueInvalid', 'type', `has invalid value: ${type}`, type));
  }
  if (textOf(object['message']).length > 1024) {
    errors.push(fieldError('FieldValueInvalid', 'message', 'can have at most 1024 characters', ''));
  }
  return errors;
}

export function checkLease(object: StoredObject): readonly FieldError[] {
  const { holderIdentity, leaseDurationSeconds, leaseTransitions } = fieldsOf(object['spec']);
  const errors: FieldError[] = [];
  if (leaseDurationSeconds !== undefined && Number(leaseDurationSeconds) <= 0) {
    errors.push(
      fieldError(
        'FieldValueInvalid',
        'spec.leaseDurationSeconds',
        'must be greater than 0',
        leaseDurationSeconds,
      ),
    );
  }
  if (leaseTransitions !== undefined && Number(leaseTransitions) < 0) {
    errors.push(
      fieldError(
        'FieldValueInvalid',
        'spec.leaseTransitions',
        'must be greater than or equal to 0',
        leaseTransitions,
      ),
    );
  }
  if (holderIdentity === null) {
    errors.push(fieldError('FieldValueInvalid', 'spec.holderIdentity', 'must not be empty', ''));
  }
  return errors;
}
