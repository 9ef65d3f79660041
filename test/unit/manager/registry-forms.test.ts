/** An entry of which the API shows the repository in a form of its own is still the one for that repository. */
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { apiVersion, objectKey } from '../../../src/resources/index.ts';
import { desiredOf } from '../../support/desired.ts';
import {
  access,
  otherId,
  readyReason,
  scriptedFleet,
  stoppedAfterEach,
  type ScriptedFleet,
} from '../../support/scripted-fleet.ts';

const images = objectKey('ImageRegistry', 'default', 'images');
const repository = 'ghcr.io/acme/web';
const document = stringify({
  apiVersion,
  kind: 'ImageRegistry',
  metadata: { name: 'images' },
  spec: { repository, credentialsSecretRef: { name: 'robot' } },
});
const robot = stringify({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'robot' },
  stringData: { username: 'robot', password: 'secret' },
});
const declared = desiredOf({ ...access, 'registry.yaml': document, 'robot.yaml': robot });
const withoutIt = desiredOf({ ...access, 'robot.yaml': robot });

const running = stoppedAfterEach();

interface Provider {
  /** How the list shows the repository. */
  readonly shown: string;
  /** It has an entry of others before anything is asked for. */
  readonly isThere?: boolean;
  /** The first creation takes effect, and its answer is lost. */
  readonly loses?: boolean;
}

async function fleetBefore({ shown, isThere = false, loses = false }: Provider): Promise<ScriptedFleet> {
  const entry = { id: otherId, repository: shown, revision: 1, linkedServices: [] };
  let isMade = isThere;
  const fleet = await scriptedFleet(declared, {
    prepare: (api) => {
      api.on['GET /api/registries'] = () => ({ status: 200, body: { registries: isMade ? [entry] : [] } });
      api.on['POST /api/registries'] = () => {
        isMade = true;
        return loses ? 'lost' : { status: 201, body: entry };
      };
      api.on[`DELETE /api/registries/${otherId}`] = () => {
        isMade = false;
        return { status: 200, body: { id: otherId, deleted: true } };
      };
    },
  });
  running.push(fleet);
  return fleet;
}

/** The entry that a creation without an answer made, and whether it goes with its document. */
async function lost(shown: string): Promise<ScriptedFleet> {
  const fleet = await fleetBefore({ shown, loses: true });
  await fleet.clock.advance(90_000);
  return fleet;
}

const asked = ({ api }: ScriptedFleet, what: string) => api.asked.filter((each) => each.what === what).length;

test.each([
  ['in upper case', 'GHCR.IO/ACME/WEB'],
  ['with the host in upper case', 'GHCR.IO/acme/web'],
  ['as an address', 'https://ghcr.io/acme/web/'],
])(
  'what a creation without an answer made is found where the repository is shown %s',
  async (_how, shown) => {
    const fleet = await lost(shown);
    expect(fleet.store.record(images)?.externalId).toBe(otherId);
    expect(readyReason(fleet, images)).not.toBe('OutcomeUnknown');
    expect(asked(fleet, 'POST /api/registries')).toBe(1);
    fleet.tell(withoutIt);
    await fleet.clock.advance(90_000);
    expect(asked(fleet, `DELETE /api/registries/${otherId}`)).toBe(1);
    expect(fleet.store.record(images)).toBeUndefined();
  },
);

test.each([
  ['as what is none', 'Acme web images'],
  ['as an image', 'ghcr.io/acme/web:latest'],
])(
  'an object is not forgotten while an entry may be its own, since the repository is shown %s',
  async (_how, shown) => {
    const fleet = await lost(shown);
    fleet.tell(withoutIt);
    await fleet.clock.advance(1_200_000);
    expect(fleet.store.record(images)).toBeDefined();
    expect(readyReason(fleet, images)).toBe('OutcomeUnknown');
    // The same request, again with its key.
    const creations = fleet.api.asked.filter(({ what }) => what === 'POST /api/registries');
    expect(new Set(creations.map(({ key }) => key)).size).toBe(1);
  },
);

test('an entry of others is in the way, whatever the case of its letters', async () => {
  const fleet = await fleetBefore({ shown: 'GHCR.IO/ACME/WEB', isThere: true });
  await fleet.clock.advance(30_000);
  expect(readyReason(fleet, images)).toBe('AlreadyExists');
  expect(asked(fleet, 'POST /api/registries')).toBe(0);
});
