import { expect, test } from 'vitest';
import { soak } from '../soak/soak.ts';
import { temporaryFolder } from '../support/processes/processes.ts';
import { seed } from '../support/seed.ts';

test(`ten kill -9 in the midst of random clients lose no write, no money and no secret (SEED=${seed})`, async () => {
  const folder = await temporaryFolder();
  const report = await soak({ seed, minutes: 10, timeScale: 60, kills: 10, clientsPerAccount: 3, folder });
  expect(report.accepted).toBeGreaterThan(600);
}, 240_000);
