/** A provider with a form of its own for names of volumes, which nobody was told when the answer to the creation was lost. */
import { expect, test } from 'vitest';
import { objectKey } from '../../../src/resources/index.ts';
import { desiredOf } from '../../support/desired.ts';
import {
  access,
  readyReason,
  scriptedFleet,
  shownVolume,
  stoppedAfterEach,
  type ScriptedFleet,
} from '../../support/scripted-fleet.ts';

const id = '0f8fad5b-d9cb-469f-a165-70867728950e';
const data = objectKey('StorageVolume', 'default', 'data');
const files = (name: string) =>
  desiredOf({
    ...access,
    'data.yaml': [
      'apiVersion: fleetkeeper.dev/v1alpha1',
      'kind: StorageVolume',
      'metadata: {name: data}',
      `spec: {region: standard, sizeGb: 10, volumeName: ${name}}`,
    ].join('\n'),
  });

const running = stoppedAfterEach();

interface Provider {
  /** What somebody calls the volume. */
  readonly rename: (name: string) => void;
  /** The names that requests have given it. */
  readonly asked: string[];
}

async function fleetOf(form: (name: string) => string): Promise<[ScriptedFleet, Provider]> {
  const shown = shownVolume(id, null);
  const asked: string[] = [];
  const rename = (name: string) => {
    shown['name'] = form(name);
    shown['revision'] = Number(shown['revision']) + 1;
  };
  const fleet = await scriptedFleet(files('data'), {
    prepare: (api) => {
      api.on['POST /api/volumes'] = ({ body }) => {
        rename(body.name);
        api.volumes = [shown];
        return 'lost';
      };
      api.on[`GET /api/volumes/${id}`] = () => ({ status: 200, body: shown });
      api.on[`PATCH /api/volumes/${id}`] = ({ body }) => {
        asked.push(body.name);
        rename(body.name);
        return { status: 200, body: shown };
      };
    },
  });
  running.push(fleet);
  await fleet.clock.advance(120_000);
  return [fleet, { rename, asked }];
}

const forms: readonly (readonly [string, (name: string) => string])[] = [
  ['in upper case', (name) => name.toUpperCase()],
  ['with a suffix', (name) => `${name}-x7f2`],
];

test.each(forms)('%s: one request at most finds that out, and the volume is Ready', async (_, form) => {
  const [fleet, { asked }] = await fleetOf(form);
  expect(readyReason(fleet, data)).toBe('Provisioned');
  expect(asked.length).toBeLessThanOrEqual(1);
});

test.each(forms)('%s: what somebody else calls it is drift, and corrected once', async (_, form) => {
  const [fleet, { asked, rename }] = await fleetOf(form);
  const before = asked.length;
  rename('archive');
  await fleet.clock.advance(60_000);
  expect(asked).toHaveLength(before + 1);
  expect(readyReason(fleet, data)).toBe('Provisioned');
});

test.each(forms)('%s: a new name is sent once', async (_, form) => {
  const [fleet, { asked }] = await fleetOf(form);
  const before = asked.length;
  fleet.tell(files('models'));
  await fleet.clock.advance(60_000);
  expect(asked).toHaveLength(before + 1);
  expect(readyReason(fleet, data)).toBe('Provisioned');
});

test('a name that is answered with another one is not taking effect', async () => {
  const [fleet] = await fleetOf(() => 'something else');
  expect(readyReason(fleet, data)).not.toBe('Provisioned');
});
