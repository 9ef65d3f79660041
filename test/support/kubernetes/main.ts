/** The server as a process of its own: `node test/support/kubernetes/main.ts --listen 127.0.0.1:0 --kubeconfig FILE`. */
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { KubernetesServer } from './server.ts';

const { values } = parseArgs({
  options: {
    listen: { type: 'string', default: '127.0.0.1:0' },
    /** Where to write one. */
    kubeconfig: { type: 'string' },
    'without-controllers': { type: 'boolean', default: false },
  },
});
const [host = '127.0.0.1', port = '0'] = values.listen.split(':');
const server = new KubernetesServer({
  host,
  port: Number(port),
  controllers: !values['without-controllers'],
});
await server.start();
if (values.kubeconfig !== undefined) {
  const folder = mkdtempSync(path.join(tmpdir(), 'kubernetes-'));
  copyFileSync(server.kubeconfig(folder), values.kubeconfig);
  rmSync(folder, { recursive: true });
}
process.stdout.write(`listening on ${server.url}\n`);
await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
await server.stop();
