/** The scripts of `examples/ci/`, as a CI job runs them: on real processes, with a forge that is asked for its comments. */
import { spawn } from 'node:child_process';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { readMarkdown } from '../support/markdown.ts';
import { serve } from '../servers/api/support.ts';
import { ControlPlane } from '../support/processes/control-plane.ts';
import { account, service, type Json } from '../support/processes/fleet.ts';
import { temporaryFolder, type Finished } from '../support/processes/processes.ts';

const root = path.join(import.meta.dirname, '../..');
const examples = path.join(root, 'examples/ci');

/** A checkout with the folder `fleet`, and a job that runs scripts in it. */
async function checkout() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder, { timeScale: 100 }).start();
  const bin = path.join(folder, 'bin');
  await mkdir(bin);
  await mkdir(path.join(folder, 'fleet'));
  const command = `#!/bin/sh\nexec "${process.execPath}" "${path.join(root, 'dist/main.mjs')}" "$@"\n`;
  await writeFile(path.join(bin, 'fleetkeeper'), command, { mode: 0o755 });
  const write = (file: string, documents: readonly object[]) =>
    writeFile(
      path.join(folder, 'fleet', file),
      documents.map((document) => stringify(document)).join('---\n'),
    );
  await write('account.yaml', account(plane.url));
  // How long what was started must stay Ready is no question here.
  await writeFile(path.join(folder, 'fleetkeeper.yaml'), 'source: fleet\ncommands: {apply: {stable: 0s}}\n');
  const environment = {
    PATH: [bin, path.dirname(process.execPath), process.env['PATH']].join(':'),
    FLEETKEEPER_DIGEST_KEY: 'a-digest-key-of-the-test-0123456789abcdef',
    NAME: 'production',
    OWNER: 'shop',
    FLEETKEEPER_API_URL: plane.url,
  };
  const job = (script: string, more: Readonly<Record<string, string>> = {}, ...args: string[]) => {
    const program = script.endsWith('.sh') ? 'sh' : process.execPath;
    return run(program, [path.join(examples, script), ...args], folder, { ...environment, ...more });
  };
  const text = (file: string) => readFile(path.join(folder, file), 'utf8');
  return { folder, plane, write, job, text };
}

function run(
  program: string,
  args: readonly string[],
  cwd: string,
  env: Record<string, string>,
): Promise<Finished> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env });
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (part: Buffer) => (stdout += part.toString()));
    child.stderr.on('data', (part: Buffer) => (stderr += part.toString()));
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
}

/** A forge with comments, of which each page has at most 100. */
async function forge(collection: string, one: string, others: readonly object[]) {
  const comments: Json[] = [...others];
  const calls: string[] = [];
  const { url } = await serve((response, { method, path: target, body: text }) => {
    const { pathname, searchParams } = new URL(target, 'http://forge');
    const body: object = text === '' ? {} : JSON.parse(text);
    calls.push(`${method} ${pathname}`);
    const answer = (status: number, value: unknown) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    };
    if (pathname === collection && method === 'GET') {
      const start = (Number(searchParams.get('page')) - 1) * 100;
      return answer(200, comments.slice(start, start + 100));
    }
    if (pathname === collection && method === 'POST') {
      comments.push({ id: comments.length + 1, user: { type: 'Bot' }, system: false, ...body });
      return answer(201, comments.at(-1));
    }
    const found = comments.find(({ id }) => pathname === `${one}/${id}`);
    if (!found) return answer(404, { message: 'Not Found' });
    return answer(200, Object.assign(found, body));
  });
  return { url, comments, calls };
}

const marker = '<!-- fleetkeeper-plan:production -->';

test('a change is planned: the comment is Markdown with its objects, and changes are no failure', async () => {
  const { write, job, text } = await checkout();
  await write('web.yaml', [service('web')]);
  const planned = await job('plan.sh');
  expect([planned.code, planned.stdout]).toEqual([0, '']);
  const comment = await text('plan/plan.md');
  expect(readMarkdown(comment.trimEnd())).toMatchObject({ markers: ['production'], details: 1 });
  expect(comment).toContain('1 to create');
});

function writePolicy(folder: string, deny: string): Promise<void> {
  const rules = [{ name: 'nothing', deny, message: 'not today' }];
  const policy = {
    apiVersion: 'fleetkeeper.dev/v1alpha1',
    kind: 'PlanPolicy',
    metadata: { name: 'p' },
    rules,
  };
  return writeFile(path.join(folder, 'policy.yaml'), stringify(policy));
}

/** With the digest that somebody has approved. */
async function approved({ job, text }: Awaited<ReturnType<typeof checkout>>, more = {}) {
  return job('apply.sh', { DIGEST: (await text('plan/plan.digest')).trim(), ...more });
}

test('what was approved by its digest is applied, once, by a job that has nothing but the file', async () => {
  const ci = await checkout();
  const { folder, plane, write, job, text } = ci;
  await write('web.yaml', [service('web')]);
  expect((await job('plan.sh')).code).toBe(0);
  expect(await text('plan/plan.digest')).toMatch(/^sha256:[0-9a-f]{64}\n$/);
  expect((await approved(ci)).code).toBe(0);
  // The next job has no state file of this one.
  await rm(path.join(folder, 'fleet/.fleetkeeper'), { recursive: true });
  expect((await job('plan.sh')).code).toBe(0);
  expect(await text('plan/plan.md')).toContain('Nothing to do');
  const creations = (await plane.requests()).filter(
    ({ method, path: at }) => method === 'POST' && at === '/api/services',
  );
  expect(creations).toHaveLength(1);
});

test('another file than the approved one, and a world that has moved, are refused, and nothing is sent', async () => {
  const ci = await checkout();
  const { plane, write, job } = ci;
  const mutations = async () => (await plane.requests()).filter(({ method }) => method !== 'GET').length;
  await write('web.yaml', [service('web')]);
  await job('plan.sh');
  const other = await approved(ci, { DIGEST: `sha256:${'0'.repeat(64)}` });
  expect([other.code, other.stderr]).toEqual([
    3,
    expect.stringContaining('is refused, and nothing was applied'),
  ]);
  expect(await mutations()).toBe(0);
  expect((await approved(ci)).code).toBe(0);
  // Reviewed, and then somebody edits the document in another way.
  await write('web.yaml', [service('web', { image: 'ghcr.io/acme/app:2' })]);
  await job('plan.sh');
  await write('web.yaml', [service('web', { image: 'ghcr.io/acme/app:3' })]);
  const before = await mutations();
  const moved = await approved(ci);
  expect([moved.code, moved.stderr]).toEqual([3, expect.stringContaining('plan --out')]);
  expect(await mutations()).toBe(before);
});

test('a policy that is stricter than at the review stops the approved file', async () => {
  const ci = await checkout();
  const { folder, plane, write, job } = ci;
  await write('web.yaml', [service('web'), service('api')]);
  await job('plan.sh');
  await writePolicy(folder, "object.metadata.name == 'web'");
  const denied = await approved(ci, { POLICY: 'policy.yaml' });
  expect([denied.code, denied.stderr]).toEqual([4, expect.stringContaining('not today')]);
  expect((await plane.requests()).filter(({ method }) => method !== 'GET')).toEqual([]);
  // What is denied is in no file that is made now, and the rest can be applied.
  expect((await job('plan.sh', { POLICY: 'policy.yaml' })).code).toBe(4);
  expect((await approved(ci, { POLICY: 'policy.yaml' })).code).toBe(0);
  expect(
    (await plane.requests()).filter(({ method, path: at }) => method === 'POST' && at === '/api/services'),
  ).toHaveLength(1);
});

test('an error and a denial fail the job, and the comment shows them', async () => {
  const { folder, write, job, text } = await checkout();
  await write('web.yaml', [service('web', { imgae: 'x' })]);
  expect((await job('plan.sh')).code).toBe(1);
  expect(await text('plan/plan.md')).toContain('unknown field');
  await write('web.yaml', [service('web')]);
  await writePolicy(folder, 'true');
  expect((await job('plan.sh', { POLICY: 'policy.yaml' })).code).toBe(4);
  expect(await text('plan/plan.md')).toContain('not today');
});

test.each([
  {
    name: 'GitHub',
    collection: '/repos/acme/fleet/issues/7/comments',
    one: '/repos/acme/fleet/issues/comments',
    update: 'PATCH',
    environment: (url: string) => ({
      GITHUB_API_URL: url,
      GITHUB_REPOSITORY: 'acme/fleet',
      GITHUB_TOKEN: 't',
      PULL_REQUEST: '7',
    }),
  },
  {
    name: 'GitLab',
    collection: '/projects/3/merge_requests/7/notes',
    one: '/projects/3/merge_requests/7/notes',
    update: 'PUT',
    environment: (url: string) => ({
      CI_API_V4_URL: url,
      CI_PROJECT_ID: '3',
      CI_MERGE_REQUEST_IID: '7',
      GITLAB_TOKEN: 't',
    }),
  },
])(
  '$name has one comment, which is kept up to date, also behind many others',
  async ({ collection, one, update, environment }) => {
    const others = Array.from({ length: 120 }, (_, index) => ({
      id: index + 1,
      body: 'well',
      user: { type: 'User' },
      system: false,
    }));
    const { url, comments, calls } = await forge(collection, one, others);
    const { write, job, text } = await checkout();
    await write('web.yaml', [service('web')]);
    await job('plan.sh');
    const posted = await job('comment.mjs', environment(url), 'plan/plan.md');
    expect([posted.code, posted.stderr]).toEqual([0, '']);
    await write('worker.yaml', [service('worker')]);
    await job('plan.sh');
    expect((await job('comment.mjs', environment(url), 'plan/plan.md')).code).toBe(0);
    const ofPlan = comments.filter(({ body }) => body.startsWith(marker));
    expect(ofPlan).toHaveLength(1);
    expect(ofPlan[0].body).toBe((await text('plan/plan.md')).trimEnd());
    expect(calls.filter((call) => !call.startsWith('GET'))).toEqual([
      `POST ${collection}`,
      `${update} ${one}/121`,
    ]);
  },
);

test('a file that is no comment is not posted, and a refusal of the forge fails the job', async () => {
  const { folder, job } = await checkout();
  await writeFile(path.join(folder, 'other.md'), 'hello\n');
  expect((await job('comment.mjs', {}, 'other.md')).code).toBe(1);
  const { url } = await serve((response) => response.writeHead(403).end('{}'));
  await writeFile(path.join(folder, 'plan.md'), `${marker}\nx\n`);
  const environment = {
    GITHUB_API_URL: url,
    GITHUB_REPOSITORY: 'acme/fleet',
    GITHUB_TOKEN: 't',
    PULL_REQUEST: '7',
  };
  const { code, stderr } = await job('comment.mjs', environment, 'plan.md');
  expect([code, stderr]).toEqual([1, expect.stringContaining('403')]);
});

test('a checkout in another folder is the same fleet, and a job without an owner or an address does not run', async () => {
  const ci = await checkout();
  const { folder, plane, write, job, text } = ci;
  await write('web.yaml', [service('web')]);
  await job('plan.sh');
  expect((await approved(ci)).code).toBe(0);
  await rm(path.join(folder, 'fleet/.fleetkeeper'), { recursive: true });
  await rename(path.join(folder, 'fleet'), path.join(folder, 'fleet@2'));
  await writeFile(path.join(folder, 'fleetkeeper.yaml'), 'source: fleet@2\n');
  expect((await job('plan.sh', { FLEET: 'fleet@2' })).code).toBe(0);
  expect(await text('plan/plan.md')).toContain('Nothing to do');
  expect((await plane.account()).services).toHaveLength(1);
  for (const missing of ['OWNER', 'FLEETKEEPER_API_URL']) {
    const { code, stderr } = await job('plan.sh', { [missing]: '' });
    expect([code !== 0, stderr]).toEqual([true, expect.stringContaining(missing)]);
  }
});

test('the workflows install the package of this version, from a file, and name the owner and the address', async () => {
  const { version } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'));
  for (const file of ['github.yaml', 'gitlab.yaml']) {
    const workflow: Json = parse(await readFile(path.join(examples, file), 'utf8'));
    expect(workflow.env ?? workflow.variables).toMatchObject({
      OWNER: expect.any(String),
      FLEETKEEPER_API_URL: expect.stringMatching(/^https:/),
    });
    expect(JSON.stringify(workflow)).toContain(`npm install --global ./ci/fleetkeeper-${version}.tgz`);
  }
});

test('the workflows run these scripts, and their steps are nothing else', async () => {
  const known = /^(?:sh ci\/\w+\.sh|node ci\/comment\.mjs plan\/plan\.md)$/;
  const github: Json = parse(await readFile(path.join(examples, 'github.yaml'), 'utf8'));
  const jobs: Json[] = Object.values(github.jobs);
  const steps: string[] = jobs.flatMap(({ steps: all }) => all.flatMap((step: Json) => step.run ?? []));
  const other = steps.filter((step) => !known.test(step));
  expect([...new Set(other)]).toEqual([
    'npm install --global ./ci/fleetkeeper-0.1.0.tgz',
    'cat plan/plan.md >> "$GITHUB_STEP_SUMMARY"',
    'echo "digest=$(cat plan/plan.digest)" >> "$GITHUB_OUTPUT"',
  ]);
  // Two merges must not be applied at once, and none is cut off while it is.
  expect(github.jobs.apply.concurrency).toEqual({
    group: 'fleet-apply-production',
    'cancel-in-progress': false,
  });
  expect(github.jobs.plan.concurrency.group).not.toBe(github.jobs.apply.concurrency.group);
  const gitlab: Json = parse(await readFile(path.join(examples, 'gitlab.yaml'), 'utf8'));
  expect(gitlab.apply.resource_group).toBe('production');
  expect([...gitlab.plan.script, ...gitlab.apply.script]).toEqual([
    'sh ci/plan.sh',
    'echo "DIGEST=$(cat plan/plan.digest)" > plan.env',
    'sh ci/apply.sh',
  ]);
});
