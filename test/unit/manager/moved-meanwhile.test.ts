/** What has changed at the provider is looked at before what has not. */
import { expect, test } from 'vitest';
import { objectKey } from '../../../src/resources/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  knownService,
  scriptedFleet,
  shownService,
  stoppedAfterEach,
} from '../../support/scripted-fleet.ts';

const running = stoppedAfterEach();
const count = 200;
const indexes = Array.from({ length: count }, (_, index) => index);
const nameOf = (index: number) => `service-${index}`;
const idOf = (index: number) => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;

test.each([
  ['was changed', { revision: 2, image: 'ghcr.io/acme/other:1' }],
  ['was paused', { state: 'paused' }],
])('after a start, what %s while the manager was away does not wait for the rest', async (_, change) => {
  const documents = indexes.map((index) => [`${nameOf(index)}.yaml`, serviceDocument(nameOf(index))]);
  const last = count - 1;
  let passes = 0;
  let passesBefore: number | undefined;
  const fleet = await scriptedFleet(desiredOf({ ...access, ...Object.fromEntries(documents) }), {
    records: indexes.map((index) =>
      knownService(objectKey('ContainerService', 'default', nameOf(index)), {
        externalId: idOf(index),
        seen: { id: idOf(index), revision: 1, state: 'running', since: 0 },
      }),
    ),
    onPass: () => {
      passes += 1;
    },
    prepare: (api) => {
      const things = indexes.map((index) => ({ id: idOf(index), name: nameOf(index) }));
      api.services = things.map((thing, index) =>
        shownService(index === last ? { ...thing, ...change } : thing),
      );
      // Each change begins with a look at the thing itself.
      api.on[`GET /api/services/${idOf(last)}`] = () => {
        passesBefore ??= passes;
        return undefined;
      };
    },
  });
  running.push(fleet);
  await fleet.clock.advance(1000);
  expect(passesBefore).toBeLessThan(count / 4);
  expect(passes).toBeGreaterThan(count - 2);
});
