/** What a person has just added does not wait behind what many others have edited. */
import { expect, test } from 'vitest';
import { objectKey } from '../../../src/resources/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  knownService,
  scriptedFleet,
  secretDocument,
  shownService,
} from '../../support/scripted-fleet.ts';

const count = 600;
const nameOf = (index: number) => `old-${index}`;
const idOf = (index: number) => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;

function documentsWith(image: string): Record<string, string> {
  const documents: Record<string, string> = { ...access, 'secret.yaml': secretDocument };
  for (let index = 0; index < count; index += 1) {
    documents[`${nameOf(index)}.yaml`] = serviceDocument(nameOf(index)).replace('web:1', image);
  }
  return documents;
}

test('a new service is created in seconds, although hundreds of edits came before it', async () => {
  const records = Array.from({ length: count }, (_, index) =>
    knownService(objectKey('ContainerService', 'default', nameOf(index)), { externalId: idOf(index) }),
  );
  const fleet = await scriptedFleet(desiredOf(documentsWith('web:1')), {
    records,
    prepare: (api) => {
      api.services = Array.from({ length: count }, (_, index) =>
        shownService({ id: idOf(index), name: nameOf(index) }),
      );
    },
  });
  const { clock, api, tell, manager } = fleet;
  await clock.advance(60_000);
  const edits = documentsWith('web:2');
  tell(desiredOf(edits));
  await clock.advance(2000);
  api.news();
  tell(desiredOf({ ...edits, 'new.yaml': serviceDocument('new') }));
  const reportedAtMs = clock.monotonicMs();
  const created = () => api.asked.find(({ what }) => what === 'POST /api/services');
  for (let second = 0; second < 120 && !created(); second += 1) await clock.advance(1000);
  const before = api.news().filter((what) => what.startsWith('PATCH'));
  // At five requests a second: its reads and its creation, between what was under way and each fourth of the rest.
  expect((created()?.atMs ?? Number.POSITIVE_INFINITY) - reportedAtMs).toBeLessThan(15_000);
  expect(before.length).toBeLessThan(40);
  await manager.stop();
});
