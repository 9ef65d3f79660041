/** A state that is new, perhaps since the last one was lost: what carries the mark of an object may be there already. */
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { derivedUid, ownerId, templateMark } from '../../../src/engine/plan/index.ts';
import { apiVersion, objectKey } from '../../../src/resources/index.ts';
import { desiredOf } from '../../support/desired.ts';
import {
  access,
  readyReason,
  scriptedFleet,
  stateIdentity,
  stoppedAfterEach,
} from '../../support/scripted-fleet.ts';

const running = stoppedAfterEach();

test('an object that is removed before its list could be read is looked for, and what is found is told, before it is forgotten', async () => {
  const id = '00000000-0000-4000-8000-000000000301';
  const key = objectKey('ServiceTemplate', 'default', 'base');
  const spec = { image: 'ghcr.io/acme/web:1', resources: { gpuCount: 0, cpu: 1, memoryGb: 1 } };
  const document = stringify({ apiVersion, kind: 'ServiceTemplate', metadata: { name: 'base' }, spec });
  const { ownerName, digestKey } = stateIdentity;
  const description = templateMark({ id: ownerId(ownerName), digestKey }, derivedUid(ownerName, key));
  let templates: object[] = [{ id, name: 'base', description, revision: 1, ...spec }];
  let isReadable = false;
  const fleet = await scriptedFleet(desiredOf({ ...access, 'base.yaml': document }), {
    prepare: (api) => {
      api.on['GET /api/templates'] = () =>
        isReadable ? { status: 200, body: { templates } } : { status: 503 };
      api.on[`GET /api/templates/${id}`] = () => ({
        status: templates.length > 0 ? 200 : 404,
        body: { template: templates[0] },
      });
    },
  });
  running.push(fleet);
  await fleet.clock.advance(10_000);
  fleet.tell(desiredOf(access));
  await fleet.clock.advance(60_000);
  expect(fleet.store.record(key)?.deletionRequestedAt).toBeDefined();
  isReadable = true;
  await fleet.clock.advance(60_000);
  expect(readyReason(fleet, key)).toBe('MarkedElsewhere');
  templates = [];
  await fleet.clock.advance(60_000);
  expect(fleet.store.record(key)).toBeUndefined();
});
