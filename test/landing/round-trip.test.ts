/** A whole account goes into manifests and back: what is imported is what is there, and asks for nothing. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import * as fc from 'fast-check';
import { expect } from 'vitest';
import { readFolder } from '../../src/desired/index.ts';
import { ControlPlane, apiKey, isMutation } from '../support/processes/control-plane.ts';
import { account, createFleet, folderOf, service, testInFolder, volume } from '../support/processes/fleet.ts';
import { fleetkeeper, temporaryFolder, type Finished } from '../support/processes/processes.ts';

const apiVersion = 'fleetkeeper.dev/v1alpha1';
/** An account has at most 50 volumes, 50 templates and 20 registries (§8); services make volumes, too. */
const counts = { services: 130, volumes: 30, templates: 25, registries: 15 };
const objectCount = Object.values(counts).reduce((sum, count) => sum + count, 0);
const seed = Number(process.env['FLEETKEEPER_SEED'] ?? 20);

const texts = fc.constantFrom(
  'web',
  'Trainer',
  'nightly job',
  'yes',
  '0o7',
  'größe',
  'a: b',
  '#1',
  '{x}',
  "it's",
  '"q"',
  '-',
  '~',
);
const resources = fc.record({
  gpuCount: fc.constantFrom(0, 0, 1),
  cpu: fc.constantFrom(0.5, 1, 2),
  memoryGb: fc.constantFrom(0.25, 1, 4),
});
const command = fc.array(
  fc.constantFrom('serve', '--port=80', 'yes', '', '{{x}}', '# no comment', 'a\nb', '\tx '),
  { minLength: 1, maxLength: 4 },
);
const variables = fc
  .subarray(['MODE', 'TOKEN', 'A.B', 'PATH_2', '_X'])
  .map((names) => names.map((name, index) => ({ name, value: `value ${index}` })));
const sleep = fc.constantFrom(0, 1, 1440);

/** Absent now and then. */
function some<Value>(arbitrary: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> {
  return fc.option(arbitrary, { nil: undefined });
}

const anyVolume = fc.record({
  volumeName: some(texts),
  sizeGb: fc.constantFrom(10, 11, 40),
  geography: some(fc.constantFrom('auto', 'europe')),
  deletionPolicy: fc.constantFrom('Delete', 'Retain'),
});
const anyService = fc.record({
  serviceName: some(texts),
  image: fc.nat(counts.registries).map((index) => `ghcr.io/acme/app-${index}:1`),
  command: some(command),
  resources,
  httpPort: some(fc.constantFrom(80, 8080)),
  env: some(variables),
  sleepAfterMinutes: some(sleep),
  desiredState: fc.constantFrom('Running', 'Running', 'Stopped'),
});
const anyTemplate = fc.record({
  templateName: some(texts),
  description: some(fc.constantFrom('short', 'two\nlines', ' # padded', '- list')),
  image: fc.constant('ghcr.io/acme/base:1'),
  command: some(command),
  resources: some(resources),
  httpPort: some(fc.constant(80)),
  containerDiskGb: some(fc.constant(20)),
  workspaceGb: some(fc.constant(30)),
  sleepAfterMinutes: some(sleep),
  requiredEnvironment: some(fc.subarray(['MODE', 'TOKEN'])),
});

function sample<Value>(arbitrary: fc.Arbitrary<Value>, numRuns: number): Value[] {
  return fc.sample(arbitrary, { numRuns, seed });
}

/** Storage of every kind: the first services use the volumes, the next ones bring their own, the rest has none. */
function storageOf(index: number): object {
  if (index < counts.volumes / 2) return { storage: { volumeRef: { name: `volume-${index}` } } };
  const made = index - counts.volumes / 2;
  if (made < 5) return { storage: { volumeGb: 12 } };
  return made < 10 ? { storage: { volumeGb: 12, volumeMode: 'independent' } } : {};
}

function object(kind: string, name: string, spec: object): object {
  return { apiVersion, kind, metadata: { name }, spec };
}

function randomFleet(): object[] {
  return [
    ...sample(anyService, counts.services).map((spec, index) =>
      service(`service-${index}`, { ...spec, ...storageOf(index) }),
    ),
    ...sample(anyVolume, counts.volumes).map((spec, index) => volume(`volume-${index}`, spec)),
    ...sample(anyTemplate, counts.templates).map((spec, index) =>
      object('ServiceTemplate', `template-${index}`, spec),
    ),
    ...Array.from({ length: counts.registries }, (_, index) =>
      object('ImageRegistry', `registry-${index}`, {
        repository: `ghcr.io/acme/app-${index}`,
        credentialsSecretRef: { name: 'pull' },
      }),
    ),
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'pull' },
      stringData: { username: 'robot', password: 'secret-of-the-robot' },
    },
  ];
}

testInFolder(
  '200 random objects are imported so that nothing is to be done, and are found again without a state',
  async () => {
    const folder = await temporaryFolder();
    const plane = await new ControlPlane(folder).start();
    const fleet = await createFleet(folder);
    const fast = { pollSeconds: 0.2, requests: { perSecond: 1000, burst: 1000, concurrency: 16 } };
    await fleet.write('account.yaml', account(plane.url, fast));
    await fleet.write('fleet.yaml', randomFleet());
    expect(objectCount).toBe(200);
    expectDone(await fleet.apply());

    const environment = { FLEETKEEPER_API_URL: plane.url, FLEETKEEPER_API_KEY: apiKey };
    const imported = path.join(folder, 'imported');
    await plane.forgetRequests();
    expectDone(await fleetkeeper(['import', '--all', '--output', imported], environment));
    const snapshot = await readFolder(imported);
    expect(snapshot.problems).toEqual([]);
    // With the Account, and the five volumes that services have made and that outlive them.
    expect(snapshot.objects.size).toBe(objectCount + 1 + 5);
    const planned = await fleetkeeper(['plan', '--source', imported], environment);
    expectDone(planned);
    expect(planned.stdout).toContain('Nothing to do');
    expectDone(await fleetkeeper(['apply', '--source', imported, '--yes'], environment));

    await rm(path.dirname(folderOf(fleet).state), { recursive: true });
    expectDone(await fleet.apply());
    expect((await plane.requests()).filter(isMutation)).toEqual([]);
  },
);

function expectDone({ code, stdout, stderr }: Finished): void {
  expect(code, `${stdout.slice(-4000)}\n${stderr.slice(-4000)}`).toBe(0);
}
