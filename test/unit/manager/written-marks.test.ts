/** Authors who write the mark of another object where they may write: into the name of a volume, or the description of a template. */
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { type Owner, derivedUid, ownerId, templateMark, volumeMark } from '../../../src/engine/plan/index.ts';
import { apiVersion, objectKey } from '../../../src/resources/index.ts';
import { desiredOf } from '../../support/desired.ts';
import {
  access,
  otherId,
  readyReason,
  scriptedFleet,
  shownVolume,
  stateIdentity,
} from '../../support/scripted-fleet.ts';

const owner: Owner = { id: ownerId(stateIdentity.ownerName), digestKey: stateIdentity.digestKey };
const document = (kind: string, name: string, spec: object) =>
  stringify({ apiVersion, kind, metadata: { name }, spec });
const volumeOf = (name: string, more: object = {}) =>
  document('StorageVolume', name, { region: 'standard', sizeGb: 10, deletionPolicy: 'Delete', ...more });

const victim = objectKey('StorageVolume', 'default', 'victim');
const hostile = objectKey('StorageVolume', 'default', 'hostile');

test('a volume named with the mark of another object is not taken for that one, and is made once', async () => {
  const mark = volumeMark(owner, derivedUid(stateIdentity.ownerName, victim));
  const made: Record<string, unknown>[] = [];
  const hostileDocument = volumeOf('hostile', { volumeName: `x${mark}` });
  const fleet = await scriptedFleet(desiredOf({ ...access, 'hostile.yaml': hostileDocument }), {
    prepare: (api) => {
      api.on['POST /api/volumes'] = ({ body }) => {
        const id = otherId.replace(/.$/, String(made.length + 3));
        const shown = { ...shownVolume(id, null), ...body, requestedSizeGb: 10 };
        made.push(shown);
        api.volumes = [...made];
        api.on[`GET /api/volumes/${id}`] = () => ({ status: 200, body: { volume: shown } });
        return made.length === 1 ? 'lost' : { status: 201, body: shown };
      };
    },
  });
  await fleet.clock.advance(1_500_000);
  expect(made).toHaveLength(1);
  expect(readyReason(fleet, hostile)).toBe('Provisioned');
  fleet.tell(desiredOf({ ...access, 'hostile.yaml': hostileDocument, 'victim.yaml': volumeOf('victim') }));
  await fleet.clock.advance(60_000);
  expect(made).toHaveLength(2);
  expect(fleet.store.record(victim)?.externalId).toBe(made[1]?.['id']);
  await fleet.manager.stop();
});

test('a template described with the mark of another object is not taken for that one', async () => {
  const key = objectKey('ServiceTemplate', 'default', 'victim');
  const mark = templateMark(owner, derivedUid(stateIdentity.ownerName, key));
  const spec = { image: 'ghcr.io/acme/web:1', resources: { gpuCount: 0, cpu: 1, memoryGb: 1 } };
  const made: Record<string, unknown>[] = [];
  const hostileDocument = document('ServiceTemplate', 'hostile', { ...spec, description: `mine\n${mark}` });
  const fleet = await scriptedFleet(desiredOf({ ...access, 'hostile.yaml': hostileDocument }), {
    prepare: (api) => {
      api.on['GET /api/templates'] = () => ({ status: 200, body: { templates: made } });
      api.on['POST /api/templates'] = ({ body }) => {
        made.push({ id: otherId.replace(/.$/, String(made.length + 3)), revision: 1, ...body });
        return { status: 201, body: made.at(-1) ?? {} };
      };
    },
  });
  await fleet.clock.advance(60_000);
  const victimDocument = document('ServiceTemplate', 'victim', spec);
  fleet.tell(desiredOf({ ...access, 'hostile.yaml': hostileDocument, 'victim.yaml': victimDocument }));
  await fleet.clock.advance(60_000);
  expect(made).toHaveLength(2);
  expect(fleet.store.record(key)?.externalId).toBe(made[1]?.['id']);
  await fleet.manager.stop();
});
