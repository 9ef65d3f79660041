import { expect, test } from 'vitest';
import { folderAlertsAsDeclared, folderAlertsAsTheyAre } from './folder-alerts.ts';

test('contrib/prometheus/fleetkeeper.yaml is as the alerts of manifests/; else run `npm run alerts`', () => {
  expect(folderAlertsAsTheyAre()).toBe(folderAlertsAsDeclared());
});
