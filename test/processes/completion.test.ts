import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { service } from '../support/processes/fleet.ts';
import { fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';

test('bash completes commands, choices and names of objects with the script', async () => {
  const { stdout: script } = await fleetkeeper(['completion', 'bash']);
  const folder = await temporaryFolder();
  const fleet = ['web', 'worker', 'db'].map((name) => stringify(service(name))).join('---\n');
  await writeFile(path.join(folder, 'fleet.yaml'), fleet);
  const main = path.resolve(import.meta.dirname, '../../dist/main.mjs');
  const asked = (line: readonly string[]) => `
    COMP_WORDS=(fleetkeeper ${line.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${line.length}
    _fleetkeeper; printf '%s,' "\${COMPREPLY[@]}"; echo`;
  const program = [
    `fleetkeeper() { '${process.execPath}' '${main}' "$@"; }`,
    script,
    asked(['inv']),
    asked(['status', '--output', '=', 'js']),
    asked(['logs', '--source', folder, 'wo']),
    asked(['plan', '--source', '']),
    'complete -p fleetkeeper',
  ].join('\n');
  const output = execFileSync('bash', ['--norc', '-euo', 'pipefail', '-c', program], { encoding: 'utf8' });
  expect(output.split('\n')).toEqual([
    'inventory,',
    'json,jsonpath=,',
    'worker,',
    ',',
    'complete -o default -F _fleetkeeper fleetkeeper',
    '',
  ]);
});
