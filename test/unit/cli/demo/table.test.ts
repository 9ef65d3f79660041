/** The picture of the demo on terminals of several sizes. */
import { expect, test } from 'vitest';
import type { DemoRow } from '../../../../src/cli/demo/fleet.ts';
import { drawPicture } from '../../../../src/cli/demo/table.ts';
import { palette } from '../../../../src/cli/output/render.ts';
import { objectKey } from '../../../../src/resources/index.ts';

const row = (name: string, doing = ''): DemoRow => ({
  key: objectKey('ContainerService', 'default', name),
  kind: 'service',
  name,
  state: 'running',
  ready: doing === '' ? 'yes' : 'no',
  doing,
  detail: '',
  drifted: false,
  heals: 0,
  goneAtMs: undefined,
});

const rows = Array.from({ length: 20 }, (_, index) => row(`web-${index}`, index === 19 ? 'patching' : ''));
const event = { tone: 'drift', subject: 'service/web-19', text: 'Drifted', elapsedMs: 0 } as const;
const requests = { reads: 1, changes: 1 };

function drawn(lines: number): string[] {
  const picture = {
    act: ['1/6', 'an act'],
    elapsedMs: 0,
    page: 'http://127.0.0.1:4711/',
    balanceMicros: 0,
    requests,
    rows,
    events: [event],
  } as const;
  return drawPicture(picture, { columns: 80, lines, colours: palette({}, {}) }).split('\n');
}

test('a terminal that is large enough shows all objects', () => {
  const names = drawn(40).filter((line) => line.includes('web-'));
  expect(names).toHaveLength(rows.length + 1);
});

test('on a small one, what is under way stays, with what has happened', () => {
  const lines = drawn(24);
  expect(lines.length).toBeLessThan(24);
  expect(lines.at(0)).toContain('1/6');
  expect(lines.at(2)).toBe('page: http://127.0.0.1:4711/');
  expect(lines.some((line) => line.includes('web-19') && line.includes('patching'))).toBe(true);
  expect(lines.at(-1)).toContain('Drifted');
});
