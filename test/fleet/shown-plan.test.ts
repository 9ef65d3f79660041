/** The plan that README and docs show is what `plan` prints for this fleet. `…` in a document stands for any lines. */
import { expect } from 'vitest';
import { apiVersion } from '../../src/resources/index.ts';
import { documentedBlocks } from '../support/documented/blocks.ts';
import { ControlPlane } from '../support/processes/control-plane.ts';
import { account, createFleet, testInFolder } from '../support/processes/fleet.ts';
import { fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';

const labels = { team: 'search' };
const size = { region: 'standard', resources: { gpuCount: 2, cpu: 8, memoryGb: 32 } };
const image = (name: string) => `ghcr.io/example/${name}:1.0`;

const budget = {
  apiVersion,
  kind: 'Budget',
  metadata: { name: 'search-team' },
  spec: { selector: { matchLabels: labels }, limits: { hourlyMicros: 15_000_000 } },
};
const embed = {
  apiVersion,
  kind: 'ServiceFleet',
  metadata: { name: 'embed' },
  spec: { replicas: 6, template: { metadata: { labels }, spec: { image: image('embed'), ...size } } },
};
const service = (name: string): object => ({
  apiVersion,
  kind: 'ContainerService',
  metadata: { name, labels },
  spec: { image: image(name), ...size },
});

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
  await fleet.write('budget.yaml', [budget]);
  await fleet.write('embed.yaml', [embed]);
  expect((await fleet.apply()).code).toBe(0);
  await fleet.write('web.yaml', [service('api'), service('batch')]);
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
