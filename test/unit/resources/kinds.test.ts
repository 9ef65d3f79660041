import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  annotations,
  apiVersion,
  baseAddressProblem,
  beaconPrefix,
  configMapDocument,
  documents,
  managedKinds,
  objectKey,
  parseObjectKey,
  remoteName,
  secretDocument,
  templateMarkLength,
  type ManagedKind,
} from '../../../src/resources/index.ts';
import { serviceId } from '../../support/plan.ts';
import { leastSpecs } from '../crdgen/support.ts';

function parse(kind: ManagedKind, spec: object = {}, metadata: object = {}) {
  return documents[kind].safeParse({
    apiVersion,
    kind,
    metadata: { name: 'web', ...metadata },
    spec: { ...leastSpecs[kind], ...spec },
  });
}

/** `path: message` of everything that is wrong; nothing when it is right. */
function reported(...what: Parameters<typeof parse>): string[] {
  const { error } = parse(...what);
  return (error?.issues ?? []).map(({ path, message }) => `${path.join('.')}: ${message}`);
}

const service = (spec: object) => reported('ContainerService', spec);

describe('defaults', () => {
  test('of a service', () => {
    expect(parse('ContainerService').data).toMatchObject({
      metadata: { name: 'web', namespace: 'default', annotations: {}, labels: {} },
      spec: {
        ...leastSpecs.ContainerService,
        accountRef: { name: 'default' },
        resources: { gpuCount: 0, cpu: 8, memoryGb: 32 },
        templateUpdates: 'Ignore',
        desiredState: 'Running',
        disruption: 'WhenUnprotected',
        driftPolicy: 'Correct',
        replacement: 'Never',
        deletionPolicy: 'Delete',
      },
    });
  });

  test('what is not given is not filled in: it is not managed', () => {
    const given = Object.keys(parse('ContainerService').data?.spec ?? {});
    for (const field of ['env', 'command', 'httpPort', 'geography', 'sleepAfterMinutes', 'storage']) {
      expect(given).not.toContain(field);
    }
  });

  // COVERAGE 60
  test('of a volume, which stays unless somebody says Delete', () => {
    expect(parse('StorageVolume').data?.spec).toEqual({
      ...leastSpecs.StorageVolume,
      accountRef: { name: 'default' },
      expansion: 'Never',
      driftPolicy: 'Correct',
      deletionPolicy: 'Retain',
    });
  });

  test('of a template and a registry, which hold no data and go with their documents', () => {
    const common = { accountRef: { name: 'default' }, driftPolicy: 'Correct', deletionPolicy: 'Delete' };
    expect(parse('ServiceTemplate').data?.spec).toEqual({ ...leastSpecs.ServiceTemplate, ...common });
    expect(parse('ImageRegistry').data?.spec).toEqual({
      ...common,
      repository: 'ghcr.io/acme/web',
      credentialsSecretRef: { name: 'ghcr', usernameKey: 'username', passwordKey: 'password' },
    });
  });

  test('of an account', () => {
    expect(parse('Account').data?.spec).toEqual({
      url: 'https://api.example.com',
      insecure: false,
      requests: { perSecond: 5, burst: 10, concurrency: 4 },
      pollSeconds: 15,
      visibilitySeconds: 600,
    });
  });
});

describe('strictness', () => {
  test.each(managedKinds)('%s: an unknown field is refused', (kind) => {
    expect(reported(kind, { imgae: 'x' })).toEqual(['spec: Unrecognized key: "imgae"']);
    expect(reported(kind, {}, { lables: {} })).toEqual(['metadata: Unrecognized key: "lables"']);
  });

  test('what Kubernetes adds to an exported object is accepted', () => {
    const metadata = { uid: 'u', generation: 3, resourceVersion: '9', finalizers: [], managedFields: [] };
    expect(reported('ContainerService', {}, metadata)).toEqual([]);
  });

  test.each(['Web', '-web', 'web-', 'web_1', 'a/b', '', 'w'.repeat(254)])(
    'the name %j is refused',
    (name) => {
      expect(
        reported('ContainerService', {}, { name }).every((text) => text.startsWith('metadata.name: ')),
      ).toBe(true);
      expect(reported('ContainerService', {}, { name })).not.toEqual([]);
    },
  );
});

// COVERAGE 29
describe('a service', () => {
  test.each([
    ['no region', { region: '' }, 'spec.region'],
    ['no image', { image: undefined }, 'spec.image'],
    ['no processor', { resources: { cpu: 0, memoryGb: 1 } }, 'spec.resources.cpu'],
    ['half of its resources', { resources: { cpu: 1 } }, 'spec.resources.memoryGb'],
    ['a port out of range', { httpPort: 65_536 }, 'spec.httpPort'],
    ['a port as text', { httpPort: '8080' }, 'spec.httpPort'],
    ['too long an idle time', { sleepAfterMinutes: 1441 }, 'spec.sleepAfterMinutes'],
    ['a negative idle time', { sleepAfterMinutes: -1 }, 'spec.sleepAfterMinutes'],
    ['half a minute', { sleepAfterMinutes: 0.5 }, 'spec.sleepAfterMinutes'],
    ['a state of its own', { desiredState: 'Sleeping' }, 'spec.desiredState'],
    ['a policy of its own', { disruption: 'Sometimes' }, 'spec.disruption'],
    ['an id to adopt that is none', { adopt: { id: 'trainer' } }, 'spec.adopt.id'],
  ])('with %s is refused, with its path', (_name, spec, path) => {
    const problems = service(spec);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(new RegExp(`^${path}: `));
  });

  test('needs image and resources, unless a template may give them', () => {
    const without = { image: undefined, resources: undefined };
    const missing = (field: string, what: string) =>
      `spec.${field}: is missing; add it (${what}), or a \`templateRef\` whose template gives it`;
    expect(service(without)).toEqual([
      missing('image', 'a text'),
      missing('resources', 'a map with cpu and memoryGb'),
    ]);
    expect(service({ ...without, templateRef: { name: 'pytorch' } })).toEqual([]);
  });

  // COVERAGE 106
  test.each([0, null, 1, 1440])('may have the sleep policy %j', (sleepAfterMinutes) => {
    expect(service({ sleepAfterMinutes })).toEqual([]);
  });

  const one = 'spec.storage: needs exactly one of volumeRef, volumeId and volumeGb';
  test.each([
    [{ volumeRef: { name: 'data' } }, []],
    [{ volumeId: serviceId }, []],
    [{ volumeGb: 50 }, []],
    [{ volumeGb: 50, volumeMode: 'independent' }, []],
    [{}, [one]],
    [{ volumeRef: { name: 'data' }, volumeGb: 50 }, [one]],
    [{ volumeId: serviceId, volumeGb: 50 }, [one]],
    [
      { volumeRef: { name: 'data' }, volumeMode: 'independent' },
      ['spec.storage.volumeMode: is for volumeGb only'],
    ],
    [{ volumeMode: 'independent' }, [one, 'spec.storage.volumeMode: is for volumeGb only']],
  ])('with the storage %j: %j', (storage, expected) => {
    expect(service({ storage })).toEqual(expected);
  });
});

describe('the environment', () => {
  const env = (...entries: object[]) => service({ env: entries });
  const secret = { secretKeyRef: { name: 's', key: 'k' } };
  const configMap = { configMapKeyRef: { name: 'c', key: 'k' } };

  test('may be empty, and may take values from Secrets and ConfigMaps', () => {
    expect(env()).toEqual([]);
    expect(env({ name: 'A' }, { name: 'B', value: '' }, { name: 'C', valueFrom: secret })).toEqual([]);
    expect(env({ name: 'D', valueFrom: configMap })).toEqual([]);
  });

  test('a variable that is given twice is refused where it is given again', () => {
    expect(env({ name: 'A', value: '1' }, { name: 'B' }, { name: 'A', value: '2' })).toEqual([
      'spec.env.2.name: the variable A is given twice',
    ]);
  });

  test('nobody else may set a beacon', () => {
    expect(env({ name: `${beaconPrefix}X`, value: '1' })).toEqual([
      `spec.env.0.name: names starting with ${beaconPrefix} are fleetkeeper's own`,
    ]);
  });

  test.each(['', '1A', 'A B', 'A=B', 'A\nB', 'Ä'])('the name %j is refused', (name) => {
    expect(env({ name })).toEqual(['spec.env.0.name: must be a name of an environment variable']);
  });

  test('numbers and booleans have to be quoted', () => {
    for (const value of [1, true, null]) {
      expect(env({ name: 'A', value })).toEqual([
        'spec.env.0.value: must be a string; quote numbers and booleans',
      ]);
    }
  });

  test('a value comes from one place', () => {
    expect(env({ name: 'A', value: '1', valueFrom: secret })).toEqual([
      'spec.env.0: value and valueFrom exclude each other',
    ]);
    for (const valueFrom of [{}, { ...secret, ...configMap }]) {
      expect(env({ name: 'A', valueFrom })).toEqual([
        'spec.env.0.valueFrom: needs exactly one of secretKeyRef and configMapKeyRef',
      ]);
    }
  });
});

describe('a volume', () => {
  // COVERAGE 105
  test.each([9, 4097, 10.5, '100'])('of %j GB is refused', (sizeGb) => {
    expect(reported('StorageVolume', { sizeGb })[0]).toMatch(/^spec\.sizeGb: /);
  });

  test('leaves room for the mark behind its name', () => {
    expect(reported('StorageVolume', { volumeName: 'v'.repeat(48) })).toEqual([]);
    expect(reported('StorageVolume', { volumeName: 'v'.repeat(49) })[0]).toMatch(
      /^spec\.volumeName: at most 48/,
    );
    expect(reported('StorageVolume', {}, { name: 'v'.repeat(49) })[0]).toMatch(/^metadata\.name: at most 48/);
    expect(reported('StorageVolume', { volumeName: 'v' }, { name: 'v'.repeat(49) })).toEqual([]);
  });
});

describe('a template', () => {
  test('leaves room for the line with the mark in its description', () => {
    const longest = 4096 - templateMarkLength;
    expect(reported('ServiceTemplate', { description: 'd'.repeat(longest) })).toEqual([]);
    expect(reported('ServiceTemplate', { description: 'd'.repeat(longest + 1) })[0]).toMatch(
      /^spec\.description: at most 4032 characters: the ownership mark needs 64 of 4096/,
    );
  });

  test('has a name that the API takes', () => {
    expect(reported('ServiceTemplate', {}, { name: 't'.repeat(129) })[0]).toMatch(
      /^metadata\.name: at most 128/,
    );
    expect(reported('ServiceTemplate', { templateName: 't' }, { name: 't'.repeat(129) })).toEqual([]);
  });

  test('names the variables that it requires, each once, and never a value', () => {
    expect(reported('ServiceTemplate', { requiredEnvironment: ['A', 'B', 'A'] })).toEqual([
      'spec.requiredEnvironment.2: the variable A is named twice',
    ]);
    expect(reported('ServiceTemplate', { requiredEnvironment: ['A=secret'] })).toEqual([
      'spec.requiredEnvironment.0: must be a name of an environment variable',
    ]);
  });
});

describe('a task', () => {
  // COVERAGE 77, 108
  test('has a name that the API takes; a longer one is refused, so that two tasks keep two names', () => {
    expect(reported('ProtectedTask', {}, { name: 't'.repeat(128) })).toEqual([]);
    expect(reported('ProtectedTask', {}, { name: 't'.repeat(129) })[0]).toMatch(
      /^metadata\.name: at most 128/,
    );
    expect(reported('ProtectedTask', { taskName: 't' }, { name: 't'.repeat(129) })).toEqual([]);
    expect(reported('ProtectedTask', { taskName: 't'.repeat(129) })[0]).toMatch(/^spec\.taskName: /);
  });
});

describe('a registry', () => {
  test.each(['ghcr.io/acme/web', 'GHCR.io/acme/web', 'localhost:5000/web', 'docker.io/postgres'])(
    'is for the repository %s',
    (repository) => {
      expect(reported('ImageRegistry', { repository })).toEqual([]);
    },
  );

  test.each([
    'web',
    'acme/web',
    'ghcr.io/acme/web:1',
    'https://ghcr.io/acme/web',
    'ghcr.io/Acme/web',
    'ghcr.io/',
  ])('is not for %s, which is no exact repository with its host', (repository) => {
    expect(reported('ImageRegistry', { repository })[0]).toMatch(
      /^spec\.repository: must be one exact repository/,
    );
  });

  test('only an adopted one goes without credentials', () => {
    expect(reported('ImageRegistry', { credentialsSecretRef: undefined })).toEqual([
      'spec.credentialsSecretRef: is missing; add it: only a registry that is adopted can go without',
    ]);
    expect(reported('ImageRegistry', { credentialsSecretRef: undefined, adopt: { id: serviceId } })).toEqual(
      [],
    );
  });
});

describe('the address of an account', () => {
  test.each([
    ['https://api.example.com', false],
    ['https://api.example.com/compute/', false],
    ['http://127.0.0.1:8787', false],
    ['http://localhost:8787', false],
    ['http://[::1]:8787', false],
    ['http://10.0.0.1', true],
  ])('%s (insecure: %j) is good', (url, insecure) => {
    expect(baseAddressProblem(url, insecure)).toBeUndefined();
  });

  test.each([
    ['api.example.com', /must be an address/],
    ['', /must be an address/],
    ['ftp://api.example.com', /must start with https/],
    ['file:///etc/passwd', /must start with https/],
    ['https://me:secret@api.example.com', /must not hold a user name/],
    ['https://api.example.com?x=1', /query or a fragment/],
    ['https://api.example.com/#x', /query or a fragment/],
    ['https://api.example.com/api', /without \/api/],
    ['https://api.example.com/api/', /without \/api/],
    ['http://api.example.com', /must be https/],
    ['http://10.0.0.1', /must be https/],
    ['http://localhost.example.com', /must be https/],
    ['http://127.0.0.1.example.com', /must be https/],
    ['http://0.0.0.0', /must be https/],
  ])('%s is refused', (url, message) => {
    expect(baseAddressProblem(url, false)).toMatch(message);
    expect(reported('Account', { url })).toHaveLength(1);
    expect(reported('Account', { url })[0]).toMatch(/^spec\.url: /);
  });

  test('what it may ask for has bounds', () => {
    expect(reported('Account', { requests: { perSecond: 0 } })[0]).toMatch(/^spec\.requests\.perSecond: /);
    expect(reported('Account', { requests: { burst: 0 } })[0]).toMatch(/^spec\.requests\.burst: /);
    expect(reported('Account', { pollSeconds: 0.1 })[0]).toMatch(/^spec\.pollSeconds: /);
    expect(parse('Account', { requests: { burst: 3 } }).data?.spec).toMatchObject({
      requests: { perSecond: 5, burst: 3, concurrency: 4 },
    });
  });
});

test('a Secret holds base64 under data and text under stringData, a ConfigMap text', () => {
  const metadata = { name: 'trainer' };
  const secret = (more: object) =>
    secretDocument.safeParse({ apiVersion: 'v1', kind: 'Secret', metadata, ...more }).success;
  const configMap = (more: object) =>
    configMapDocument.safeParse({ apiVersion: 'v1', kind: 'ConfigMap', metadata, ...more }).success;
  expect(secret({ data: { a: 'eA==' }, stringData: { b: 'plain' }, type: 'Opaque' })).toBe(true);
  expect(secret({ data: { a: 'not base64!' } })).toBe(false);
  expect(secret({ stringData: { a: 1 } })).toBe(false);
  expect(configMap({ data: { a: 'text' } })).toBe(true);
  expect(configMap({ data: { a: 1 } })).toBe(false);
});

test('the name at the provider is the given one, or that of the object', () => {
  expect(remoteName('ContainerService', 'web', {})).toBe('web');
  expect(remoteName('ContainerService', 'web', { serviceName: 'the-web', volumeName: 'no' })).toBe('the-web');
  expect(remoteName('StorageVolume', 'data', { serviceName: 'no', volumeName: 'corpus' })).toBe('corpus');
});

test('a key is read back as what it was made of', () => {
  const name = fc.stringMatching(/^[a-z0-9]([-a-z0-9.]{0,20}[a-z0-9])?$/);
  fc.assert(
    fc.property(fc.constantFrom(...managedKinds), name, name, (kind, namespace, own) => {
      expect(parseObjectKey(objectKey(kind, namespace, own))).toEqual({ kind, namespace, name: own });
    }),
  );
});

test('every annotation is in our group', () => {
  for (const name of Object.values(annotations)) expect(name).toMatch(/^fleetkeeper\.dev\/[a-z-]+$/);
});
