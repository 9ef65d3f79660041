import { describe, expect, test } from 'vitest';
import { expectRefused } from './expectations.ts';
import { target } from './target.ts';
import { Workspace } from './workspace.ts';

const workspace = new Workspace();
const { api } = workspace;

async function expectNotCreated(spec: object): Promise<void> {
  expectRefused(workspace.keepIfMade('service', await api.call('POST', '/api/services', spec)));
}

describe('the create spec of a service', () => {
  test.each([
    ['name, region, image and resources are enough', {}],
    ['geography may be auto', { geography: 'auto' }],
    ['command may be an array of strings', { command: target.command ?? ['sleep', 'infinity'] }],
    ['httpPort may be an integer', { httpPort: target.httpPort }],
    ['sleepAfterMinutes may be an integer', { sleepAfterMinutes: 1440 }],
    ['sleepAfterMinutes may be null', { sleepAfterMinutes: null }],
    ['environment may be a map of names to strings', { environment: { CONFORMANCE: '1' } }],
  ])('§2 Service create spec: %s', async (_, fields) => {
    const service = await workspace.createService(fields);
    expect(service.id).toBeTypeOf('string');
    await workspace.discard('service', service);
  });

  test.each(['name', 'region', 'image', 'resources'])(
    '§2 Service create spec: %s is required',
    async (field) => {
      const { [field]: _, ...rest } = workspace.serviceSpec();
      await expectNotCreated(rest);
    },
  );

  test.each(['gpuCount', 'cpu', 'memoryGb'])(
    '§2 Service create spec: resources without %s are refused',
    async (field) => {
      const { [field]: _, ...rest } = { ...target.resources } as Record<string, number>;
      await expectNotCreated(workspace.serviceSpec({ resources: rest }));
    },
  );

  test.each([
    ['name', 5],
    ['region', 5],
    ['image', ['nginx']],
    ['resources', 'large'],
    ['resources', { gpuCount: '0', cpu: 1, memoryGb: 1 }],
    ['geography', 5],
    ['command', 'sleep infinity'],
    ['httpPort', 80.5],
    ['httpPort', '80'],
    ['volumeGb', 10.5],
    ['volumeMode', 5],
    ['volumeId', 'not-a-uuid'],
    ['sleepAfterMinutes', 0],
    ['sleepAfterMinutes', 1441],
    ['sleepAfterMinutes', 1.5],
    ['environment', ['A=1']],
    ['environment', { A: 1 }],
  ])('§2 Service create spec: %s can not be %j', async (field, value) => {
    await expectNotCreated(workspace.serviceSpec({ [field]: value }));
  });
});
