/** The plan that README and docs show is what `plan` prints for examples/cost. `…` in a document stands for any lines. */
import { readFile } from 'node:fs/promises';
import { expect } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { documentedBlocks } from '../support/documented/blocks.ts';
import { ControlPlane } from '../support/processes/control-plane.ts';
import { account, createFleet, testInFolder } from '../support/processes/fleet.ts';
import { fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';

/** The one that begins with the line. */
function shownIn(document: string, firstLine: string): string {
  const block = documentedBlocks(document).find(({ text }) => text.startsWith(firstLine));
  if (!block) throw new Error(`${document} shows nothing that begins with ${firstLine}`);
  return block.text;
}

function patternOf(shown: string): RegExp {
  const parts = shown.split(/^ *…\n/m).map((part) => part.replaceAll(/[^\w\s]/gu, '\\$&'));
  return new RegExp(`^${parts.join('(?:.*\\n)+?')}\\s*$`);
}

testInFolder('the plan of README, and the same as Markdown', async () => {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  const documents = parseAllDocuments(await readFile('examples/cost/search.yaml', 'utf8'));
  await fleet.write(
    'search.yaml',
    documents.map((document): object => document.toJS()),
  );
  // As the first lines of examples/cost/account.yaml have it.
  expect((await fleetkeeper(['apply', ...fleet.flags, '--target', 'embed', '--yes'])).code).toBe(0);
  const text = await fleetkeeper(['plan', ...fleet.flags]);
  const shown = shownIn('README.md', '  + ContainerService default/api');
  expect(text.stdout).toMatch(patternOf(shown));
  const markdown = await fleetkeeper(['plan', ...fleet.flags, '--output', 'markdown']);
  expect(markdown.stdout).toMatch(patternOf(shownIn('docs/how-to/ci.md', '<!-- fleetkeeper-plan:fleet -->')));
  // What a reader is to find there.
  for (const part of [
    '+$1.94/h',
    '$11.66/h → $13.61/h',
    '1 change will wait (ContainerService default/batch)',
  ])
    expect(shown).toContain(part);
});
