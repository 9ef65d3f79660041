/** A runner of CI that keeps no state between its jobs. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { stringify } from 'yaml';
import { apiKey, ControlPlane, isMutation } from './control-plane.ts';
import { temporaryFolder } from './processes.ts';
import { run } from '../../unit/cli/support.ts';

const applied = ['--yes', '--stable', '0s', '--timeout', '20s'];

/** With a fleet of one document, which is applied. */
export async function statelessRunner(document: object) {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder, { timeScale: 1000 }).start();
  const fleet = path.join(folder, 'fleet');
  await mkdir(fleet);
  const write = (next: object) => writeFile(path.join(fleet, 'web.yaml'), stringify(next));
  const environment = {
    FLEETKEEPER_API_URL: plane.url,
    FLEETKEEPER_API_KEY: apiKey,
    FLEETKEEPER_DIGEST_KEY: 'a-digest-key-of-the-test-0123456789abcdef',
  };
  const command = (name: 'plan' | 'apply', ...flags: string[]) =>
    run([name, '--source', fleet, '--owner', 'shop', ...flags], { environment });
  const fresh = async (name: 'plan' | 'apply', ...flags: string[]) => {
    await rm(path.join(fleet, '.fleetkeeper'), { recursive: true, force: true });
    return command(name, ...flags);
  };
  const apply = () => fresh('apply', ...applied);
  const kept = () => command('apply', ...applied);
  const planKept = () => command('plan', '-o', 'json');
  const sent = async () => (await plane.requests()).filter(isMutation).length;
  await write(document);
  const { code, stderr } = await apply();
  if (code !== 0) throw new Error(`the first apply failed: ${stderr}`);
  const hotfix = async () => {
    const { id, revision } = await plane.service('web');
    await plane.call('PATCH', `/api/services/${id}`, { revision, patch: { image: 'ghcr.io/acme/hotfix:1' } });
    await plane.forgetRequests();
  };
  const image = async (): Promise<string> => (await plane.service('web')).image;
  return { plane, write, fresh, apply, kept, planKept, sent, hotfix, image };
}
