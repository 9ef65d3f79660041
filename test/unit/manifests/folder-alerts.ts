/**
 * `contrib/prometheus/fleetkeeper.yaml`: the alerts that hold in a cluster and in a folder, from `manifests/components/monitoring/alerts.yaml`,
 * as a Prometheus without its operator takes them. `npm run alerts` writes it anew. Written by hand: `folder.yaml` beside it.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const root = path.join(import.meta.dirname, '../../..');
const made = path.join(root, 'contrib/prometheus/fleetkeeper.yaml');

export function folderAlertsAsDeclared(): string {
  const text = readFileSync(path.join(root, 'manifests/components/monitoring/alerts.yaml'), 'utf8');
  const [, group] = /^ {2}groups:\n( {4}- name: fleetkeeper\n(?: {6}.*\n)+)/m.exec(text) ?? [];
  if (group === undefined) throw new Error('alerts.yaml does not begin with the group fleetkeeper');
  const lines = group.replaceAll(/^ {2}/gm, '');
  return `# Made by \`npm run alerts\` from manifests/components/monitoring/alerts.yaml; not to be edited.\ngroups:\n${lines}`;
}

export function folderAlertsAsTheyAre(): string {
  return readFileSync(made, 'utf8');
}

if (import.meta.main) writeFileSync(made, folderAlertsAsDeclared());
