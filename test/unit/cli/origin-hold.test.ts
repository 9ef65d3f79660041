/** Commands that ask a few questions send no key where it may not go, either. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { systemRandom } from '../../../src/base/index.ts';
import { openState } from '../../../src/state/index.ts';
import { serve } from '../../servers/api/support.ts';
import { temporaryFile } from '../../support/temporary.ts';
import { run } from './support.ts';

function folderWith(url: string, allowed?: string): string {
  const directory = path.dirname(temporaryFile('fleet/account.yaml'));
  mkdirSync(directory, { recursive: true });
  const annotation =
    allowed === undefined ? '' : `, annotations: {fleetkeeper.dev/allowed-origins: "${allowed}"}`;
  writeFileSync(
    path.join(directory, 'account.yaml'),
    [
      'apiVersion: fleetkeeper.dev/v1alpha1',
      'kind: Account',
      'metadata: {name: default}',
      `spec: {url: "${url}", credentialsSecretRef: {name: compute, key: apiKey}}`,
      '---',
      'apiVersion: v1',
      'kind: Secret',
      `metadata: {name: compute${annotation}}`,
      'stringData: {apiKey: hush}',
      '',
    ].join('\n'),
  );
  return directory;
}

const commands = [
  ['inventory'],
  ['exec', '--id', '0f8fad5b-d9cb-469f-a165-70867728950e', '--', 'true'],
  ['import', '--output', 'nowhere'],
];

test.each(commands)(
  '`%s` asks nothing at an origin that the account was not used with',
  async (...command) => {
    await using server = await serve((response) => response.writeHead(500).end());
    const directory = folderWith(server.url);
    const file = path.join(directory, '.fleetkeeper', 'state.db');
    const state = openState(file, systemRandom, { default: 'lab', explicit: undefined });
    await state.store.saveIdentityPin('default/default', {
      id: 'acme',
      emailDigest: undefined,
      origin: 'https://api.example.com',
    });
    state.close();
    const [name = '', ...rest] = command;
    const { code, stderr } = await run([name, '--source', directory, ...rest]);
    expect([code, server.requests]).toEqual([name === 'exec' ? 125 : 1, []]);
    expect(stderr).toContain('fleetkeeper.dev/accept-origin');
  },
);

test('nor where its Secret does not let it go', async () => {
  await using server = await serve((response) => response.writeHead(500).end());
  const { code, stderr } = await run([
    'inventory',
    '--source',
    folderWith(server.url, 'https://api.example.com'),
  ]);
  expect([code, server.requests]).toEqual([1, []]);
  expect(stderr).toContain('may not be sent to');
});
