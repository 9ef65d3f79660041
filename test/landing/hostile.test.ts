import { expect, test } from 'vitest';
import { hostile } from '../hostile/hostile.ts';
import { temporaryFolder } from '../support/processes/processes.ts';

test('while one tenant attacks, the reads of another stay quick, and nothing of it is lost', async () => {
  const folder = await temporaryFolder();
  // Other tests run beside it, and a quiet moment may be quieter than what follows.
  const report = await hostile({ quietMs: 3_000, attackMs: 8_000, folder, quietFloorMs: 25 });
  expect(report.violations).toEqual([]);
  // It was under attack: what is refused was tried, and what is allowed was had. A busy machine gets to no limit of rates.
  expect(Object.keys(report.answers)).toEqual(expect.arrayContaining(['POST 400', 'POST 201']));
}, 180_000);
