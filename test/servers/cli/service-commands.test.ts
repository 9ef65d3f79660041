import type { ServerResponse } from 'node:http';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { errorForm, freePort, serve, type Received, type ScriptedServer } from '../api/support.ts';
import { serviceDocument } from '../../support/desired.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { temporaryFile } from '../../support/temporary.ts';
import { CommandLine, run, type RunOptions } from '../../unit/cli/support.ts';

const id = '0f8fad5b-d9cb-469f-a165-70867728950e';
const other = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const third = '9b2f1e04-5c11-4f6e-8f0a-3d1a5b7c9e21';
const escape = '\u001b';

type Answers = Readonly<Record<string, (request: Received) => unknown>>;

const account = {
  balanceMicros: 1,
  currency: 'USD',
  services: [
    { id, name: 'front' },
    { id: other, name: 'twin' },
    { id: third, name: 'twin' },
  ],
  volumes: [],
  ledger: [],
};

/** Answers by `METHOD path`: a string is sent as text, a number with the error form, anything else as JSON. */
function api(answers: Answers): Promise<ScriptedServer> {
  const all: Answers = { 'GET /api/account': () => account, ...answers };
  return serve((response, request) => {
    const answer = all[`${request.method} ${request.path}`]?.(request) ?? 404;
    if (answer === 'drop') response.destroy();
    else send(response, answer);
  });
}

function send(response: ServerResponse, answer: unknown): void {
  const status = typeof answer === 'number' ? answer : 200;
  const body = typeof answer === 'number' ? errorForm('refused', 'because') : answer;
  response
    .writeHead(status, { 'retry-after': '7' })
    .end(typeof body === 'string' ? body : JSON.stringify(body));
}

async function ask(answers: Answers, args: readonly string[], options: RunOptions = {}) {
  await using server = await api(answers);
  const environment = { FLEETKEEPER_API_URL: server.url, FLEETKEEPER_API_KEY: 'key' };
  const done = await run(args, { environment, ...options });
  return { ...done, requests: server.requests };
}

/** A folder with the object `web`, which adopts the service. */
function folder(): string {
  const file = temporaryFile('web.yaml');
  writeFileSync(file, serviceDocument('web', [`adopt: {id: ${id}}`]));
  return path.dirname(file);
}

const logs = { [`GET /api/services/${id}/logs`]: () => 'one\ntwo\nthree\n' };

describe('a service is found', () => {
  test('by the name of its object, in the folder', async () => {
    const { code, stdout } = await ask(logs, ['logs', 'web', '--source', folder()]);
    expect([code, stdout]).toEqual([0, 'one\ntwo\nthree\n']);
  });

  test.each(['logs', 'events', 'open'])(
    '%s: names that steer a terminal are shown, and not obeyed',
    async (command) => {
      const services = [
        { id, name: `front${escape}[2J\nerror: pay\u202e` },
        { id: other, name: `b${escape}]0;x` },
      ];
      const answers = { 'GET /api/account': () => ({ ...account, services }) };
      const { code, stderr } = await ask(answers, [command, 'web'], { terminal: true });
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining('there are: b?]0;x, front?[2J?error: pay?'),
      ]);
      expect(stderr).not.toContain(escape);
    },
  );

  test('by its name at the provider, without a folder', async () => {
    expect((await ask(logs, ['logs', 'front'])).stdout).toBe('one\ntwo\nthree\n');
  });

  test('by its id', async () => {
    const { stdout, requests } = await ask(logs, ['logs', '--id', id]);
    expect(stdout).toBe('one\ntwo\nthree\n');
    expect(requests.map((request) => request.path)).toEqual([`/api/services/${id}/logs`]);
  });

  test.each([
    [['logs', 'wbe', '--source'], 'did you mean web?'],
    [['logs', 'nothing', '--source'], 'there are: web'],
    [['logs', 'web', '--namespace', 'other', '--source'], 'check --source and --namespace'],
    [['logs', 'web', '--account', 'defualt', '--source'], 'did you mean default?'],
  ])('or not, and then %j is told what to try', async (args, advice) => {
    const { code, stderr } = await ask(logs, [...args, folder()]);
    expect(code).toBe(1);
    expect(stderr).toContain(advice);
  });

  test.each([
    [['logs', 'frnt'], 'did you mean front?'],
    [['logs', 'twin'], `--id ${other}`],
    [['logs'], 'give either the name of its object'],
    [['logs', 'front', '--id', id], 'give either the name of its object'],
    [['logs', '--id', 'front'], 'is not a UUID'],
  ])('or not, and then %j is told what to do', async (args, advice) => {
    const { code, stderr } = await ask(logs, args);
    expect(code).toBe(1);
    expect(stderr).toContain(advice);
  });
});

describe('what goes wrong', () => {
  test.each([
    [{}, 'set FLEETKEEPER_API_URL and FLEETKEEPER_API_KEY'],
    [{ FLEETKEEPER_API_URL: 'http://127.0.0.1:1' }, 'set FLEETKEEPER_API_KEY, or FLEETKEEPER_API_KEY_FILE'],
    [{ FLEETKEEPER_API_URL: 'api.example.com', FLEETKEEPER_API_KEY: 'key' }, 'set it to the base address'],
    [
      {
        FLEETKEEPER_API_URL: 'http://127.0.0.1:1',
        FLEETKEEPER_API_KEY: 'key',
        FLEETKEEPER_API_KEY_HEADER: 'Host',
      },
      'FLEETKEEPER_API_KEY_HEADER: "Host" has a meaning of its own',
    ],
  ])('for lack of settings (%j) says which', async (environment, advice) => {
    const { code, stderr } = await run(['logs', 'front'], { environment });
    expect(code).toBe(1);
    expect(stderr).toContain(advice);
  });

  test.each([
    ['that is not there', undefined, 'no such file'],
    ['that is empty', '\n', 'it is empty'],
  ])('with a key file %s names the file', async (_, content, reason) => {
    const file = temporaryFile('key');
    if (content !== undefined) writeFileSync(file, content);
    const environment = { FLEETKEEPER_API_URL: 'http://127.0.0.1:1', FLEETKEEPER_API_KEY_FILE: file };
    const { code, stderr } = await run(['logs', 'front'], { environment });
    expect(code).toBe(1);
    for (const part of ['FLEETKEEPER_API_KEY_FILE', file, reason]) expect(stderr).toContain(part);
  });

  test('at the network says so', async () => {
    const environment = {
      FLEETKEEPER_API_URL: `http://127.0.0.1:${await freePort()}`,
      FLEETKEEPER_API_KEY: 'key',
    };
    const { code, stderr } = await run(['logs', '--id', id], { environment });
    expect(code).toBe(1);
    expect(stderr).toContain('check the address of the API');
  });

  test.each([
    [401, 'does not accept the key'],
    [403, 'may not do this'],
    [404, 'not of this account'],
    [429, 'try again in 7 s'],
    [503, 'try again in a while'],
  ])('at the API, with %i, says what to try', async (status, advice) => {
    const { code, stderr } = await ask({ [`GET /api/services/${id}/logs`]: () => status }, [
      'logs',
      '--id',
      id,
    ]);
    expect(code).toBe(1);
    expect(stderr).toContain(`refused with ${status} refused: because`);
    expect(stderr).toContain(advice);
  });
});

test.each([['logs', 'front'], ['inventory'], ['import', '--output', 'imported']])(
  'a read that does not answer ends when it is asked to stop: %s',
  async (...args) => {
    await using server = await serve(() => undefined);
    const environment = { FLEETKEEPER_API_URL: server.url, FLEETKEEPER_API_KEY: 'key' };
    const line = new CommandLine(args, { environment });
    await server.received(1);
    line.stop();
    expect(await line.ended).toBe(1);
    expect(line.stderr).toBe('error: stopped\n');
  },
);

describe('logs', () => {
  // COVERAGE 15
  test('are cut to the last lines on request', async () => {
    expect((await ask(logs, ['logs', '--id', id, '--tail', '2'])).stdout).toBe('two\nthree\n');
  });

  test('are raw for a program, and harmless on a terminal', async () => {
    const raw = { [`GET /api/services/${id}/logs`]: () => `${escape}[2Jx\n` };
    expect((await ask(raw, ['logs', '--id', id])).stdout).toBe(`${escape}[2Jx\n`);
    expect((await ask(raw, ['logs', '--id', id], { terminal: true })).stdout).toBe('x\n');
  });

  test('are followed through a failure until they are stopped, each line once', async () => {
    const answers = ['a\n', 'a\nb\n', 503, 'a\nb\nc\n'];
    await using server = await api({
      [`GET /api/services/${id}/logs`]: () => answers.shift() ?? 'a\nb\nc\n',
    });
    const clock = new ManualClock();
    const environment = { FLEETKEEPER_API_URL: server.url, FLEETKEEPER_API_KEY: 'key' };
    const line = new CommandLine(['logs', '--id', id, '--follow'], { environment, clock });
    for (let count = 1; count <= 5; count += 1) {
      while (server.requests.length < count) await clock.advance(500);
    }
    line.stop();
    expect(await line.ended).toBe(0);
    expect(line.stdout).toBe('a\nb\nc\n');
    expect(line.stderr.match(/can't read the logs/g)).toHaveLength(1);
  });
});

describe('logs of several services', () => {
  const several = {
    [`GET /api/services/${id}/logs`]: () => 'one\ntwo',
    [`GET /api/services/${other}/logs`]: () => 'three\n',
  };
  const rest = {
    'GET /api/account': () => ({
      ...account,
      services: [
        { id, name: 'front' },
        { id: other, name: 'worker' },
      ],
    }),
  };

  test('have the name of its service before each line', async () => {
    const { code, stdout } = await ask({ ...several, ...rest }, ['logs', 'worker', 'front']);
    expect([code, stdout]).toEqual([0, 'worker | three\nfront  | one\nfront  | two\n']);
  });

  test('are harmless on a terminal, where every line has its name', async () => {
    const hostile = { ...several, [`GET /api/services/${other}/logs`]: () => `a${escape}[2J\r\nb\rc\n` };
    await using server = await api({ ...hostile, ...rest });
    const environment = { FLEETKEEPER_API_URL: server.url, FLEETKEEPER_API_KEY: 'key', NO_COLOR: '1' };
    const { stdout } = await run(['logs', 'worker', 'front'], { terminal: true, environment });
    expect(stdout).toBe('worker | a\nworker | b\nworker | c\nfront  | one\nfront  | two\n');
  });

  test('are shown although one of them can not be read, which is an error in the end', async () => {
    const { code, stdout, stderr } = await ask(
      { ...several, ...rest, [`GET /api/services/${other}/logs`]: () => 503 },
      ['logs', 'worker', 'nothing', 'front'],
    );
    expect([code, stdout]).toEqual([1, 'front   | one\nfront   | two\n']);
    expect(stderr).toContain("can't read the logs of worker");
    expect(stderr).toContain('no service called nothing');
  });

  test('are those of the whole account with --all, and twins are told apart', async () => {
    const answers = { ...several, [`GET /api/services/${third}/logs`]: () => 'four\n' };
    const { code, stdout } = await ask(answers, ['logs', '--all']);
    expect([code, stdout.split('\n').map((line) => line.replace(/ +\|/, ' |'))]).toEqual([
      0,
      ['front | one', 'front | two', `twin ${other} | three`, `twin ${third} | four`, ''],
    ]);
  });

  test('are those of the objects with a label', async () => {
    const file = temporaryFile('fleet.yaml');
    const labelled = (name: string, serviceId: string, label: string) =>
      serviceDocument(name, [`adopt: {id: ${serviceId}}`]).replace(
        `name: ${name}`,
        `name: ${name}, labels: {app: ${label}}`,
      );
    writeFileSync(file, [labelled('web', id, 'shop'), labelled('queue', other, 'mail')].join('---\n'));
    const source = ['--source', path.dirname(file)];
    const { stdout } = await ask(several, ['logs', '-l', 'app=mail', ...source]);
    expect(stdout).toBe('queue | three\n');
    const none = await ask(several, ['logs', '-l', 'app=none', ...source]);
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('app=none')]);
    const nowhere = await ask(several, ['logs', '-l', 'app=mail']);
    expect([nowhere.code, nowhere.stderr]).toEqual([1, expect.stringContaining('--source')]);
  });

  test.each([
    [['front', '--all', '-l', 'app=web']],
    [['--id', id, '--all']],
    [['front', 'worker', '--id', id]],
  ])('are asked for in one way: %j', async (args) => {
    const { code, stderr } = await ask(several, ['logs', ...args]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('one of these')]);
  });

  test('are followed at once until it is stopped, and one that is gone ends no other', async () => {
    const growing = ['a\nb', 'a\nbc\nd\n'];
    await using server = await api({
      ...rest,
      [`GET /api/services/${id}/logs`]: () => growing.shift() ?? 'a\nbc\nd\n',
      [`GET /api/services/${other}/logs`]: () => (growing.length > 0 ? 'x\n' : 404),
    });
    const clock = new ManualClock();
    const environment = { FLEETKEEPER_API_URL: server.url, FLEETKEEPER_API_KEY: 'key' };
    const line = new CommandLine(['logs', 'front', 'worker', '--follow'], { environment, clock });
    while (!line.stderr.includes('worker is gone')) await clock.advance(500);
    while (!line.stdout.includes('d\n')) await clock.advance(500);
    line.stop();
    expect(await line.ended).toBe(1);
    expect(line.stdout).toBe('front  | a\nworker | x\nfront  | bc\nfront  | d\n');
  });
});

describe('logs --since', () => {
  const at = Date.UTC(2026, 0, 31, 12);
  const text = '2026-01-31T11:49:59Z old\n2026-01-31T11:50:00Z new\n  more\n2026-01-31T12:00:00Z last\n';
  const answers = { [`GET /api/services/${id}/logs`]: () => text };
  const since = (when: string, ...more: string[]) =>
    ask(answers, ['logs', '--id', id, '--since', when, ...more], { clock: new ManualClock(at) });

  test.each(['10m', '2026-01-31T11:50:00Z', '2026-01-31T12:50:00+01:00'])(
    '%s leaves out what was written before',
    async (when) => {
      const { code, stdout, stderr } = await since(when);
      expect([code, stdout, stderr]).toEqual([0, text.slice(text.indexOf('\n') + 1), '']);
    },
  );

  test('leaves the last of these lines with --tail', async () => {
    expect((await since('10m', '--tail', '1')).stdout).toBe('2026-01-31T12:00:00Z last\n');
  });

  test('includes what shows no time, and reports that', async () => {
    const { stdout, stderr } = await ask(logs, ['logs', '--id', id, '--since', '1s']);
    expect(stdout).toBe('one\ntwo\nthree\n');
    expect(stderr).toContain('show no time');
  });

  test.each(['yesterday', '10', '2026-01-31', '2026-01-31T12:00:00'])('takes no time %s', async (when) => {
    expect((await since(when)).stderr).toContain('expected a duration such as 10m, or a time');
  });
});

describe('exec', () => {
  const exec = (answer: unknown) => ({ [`POST /api/services/${id}/exec`]: () => answer });

  test('gives the output and the exit code of the command', async () => {
    const answers = exec({ exitCode: 3, stdout: 'out\n', stderr: 'err\n' });
    const { code, stdout, stderr, requests } = await ask(answers, ['exec', '--id', id, '--', 'ls', '-la']);
    expect([code, stdout, stderr]).toEqual([3, 'out\n', 'err\n']);
    expect(JSON.parse(requests[0]?.body ?? '')).toEqual({ command: ['ls', '-la'] });
    expect(requests[0]?.headers['idempotency-key']).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('of a command that is not in the image says so, before what the engine reported', async () => {
    const raw = 'OCI runtime exec failed: exec: "lss": executable file not found in $PATH: unknown\n';
    const { code, stderr } = await ask(exec({ exitCode: 127, stderr: raw }), [
      'exec',
      '--id',
      id,
      '--',
      'lss',
    ]);
    const sentence = `the command lss was not found in the image of ${id}, and did not run; what its engine reported:`;
    expect([code, stderr]).toEqual([127, `${sentence}\n${raw}`]);
  });

  test('takes the name first, and the command behind it', async () => {
    const answers = exec({ exitCode: 0 });
    const { code, requests } = await ask(answers, [
      'exec',
      'front',
      '--timeout',
      '5s',
      '--',
      'sh',
      '-c',
      'x',
    ]);
    expect(code).toBe(0);
    expect(JSON.parse(requests.at(-1)?.body ?? '')).toEqual({
      command: ['sh', '-c', 'x'],
      timeoutSeconds: 5,
    });
  });

  // COVERAGE 16
  test('is never sent twice: when its outcome is unknown, that is what it says', async () => {
    const { code, stderr, requests } = await ask(exec('drop'), ['exec', '--id', id, '--', 'rm', 'x']);
    expect(code).toBe(125);
    expect(stderr).toContain('nobody knows whether the command ran');
    expect(requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });

  test('still tells what is not known when it was asked to stop meanwhile', async () => {
    await using server = await serve((response) => setTimeout(() => response.destroy(), 200));
    const environment = { FLEETKEEPER_API_URL: server.url, FLEETKEEPER_API_KEY: 'key' };
    const line = new CommandLine(['exec', '--id', id, '--', 'rm', 'x'], { environment });
    await server.received(1);
    line.stop();
    expect(await line.ended).toBe(125);
    expect(line.stderr).toMatch(/the command is still running[^]*nobody knows whether the command ran/);
  });

  test('that is refused ends with 125, which is no code of the command', async () => {
    const { code, stderr } = await ask(exec(409), ['exec', '--id', id, '--', 'ls']);
    expect(code).toBe(125);
    expect(stderr).toContain('409');
  });

  test('prints an answer of another shape as it is, and claims no success', async () => {
    const { code, stdout, stderr } = await ask(exec({ jobId: 'x' }), ['exec', '--id', id, '--', 'ls']);
    expect(code).toBe(125);
    expect(JSON.parse(stdout)).toEqual({ answer: { jobId: 'x' } });
    expect(stderr).toContain('does not show its exit code');
  });

  test.each([['0s'], ['61s'], ['1500ms'], ['ten']])('takes no time-out of %s', async (timeout) => {
    expect((await ask({}, ['exec', '--id', id, '--timeout', timeout, '--', 'ls'])).code).toBe(125);
  });
});

describe('events', () => {
  const at = Date.UTC(2026, 0, 1);
  const events = [
    { message: `new ${escape}[2J\nline`, created_at: at },
    { message: 'old', created_at: at - 60_000, kind: 'unknown field' },
  ];
  const answers = { [`GET /api/services/${id}/events`]: () => ({ events }) };

  // COVERAGE 13
  test('are shown with the newest last, and obeyed by no terminal', async () => {
    const { stdout } = await ask(answers, ['events', '--id', id], { clock: new ManualClock(at + 180_000) });
    const [, first, second] = stdout.split('\n');
    expect(first).toMatch(/^4m +2025-12-31T23:59:00\.000Z +old$/);
    expect(second).toMatch(/^3m +2026-01-01T00:00:00\.000Z +new \?\[2J\?line$/);
  });

  test.each(['json', 'yaml'])('are data for programs as %s', async (format) => {
    const { stdout } = await ask(answers, ['events', '--id', id, '--output', format]);
    expect(stdout).toContain('2025-12-31T23:59:00.000Z');
    expect(stdout).not.toContain(escape);
  });

  // COVERAGE 13, 107
  test('say that there may be older ones when they are as many as the API shows', async () => {
    const many = Array.from({ length: 100 }, (_, index) => ({ message: String(index), created_at: index }));
    const { stderr } = await ask({ [`GET /api/services/${id}/events`]: () => ({ events: many }) }, [
      'events',
      '--id',
      id,
    ]);
    expect(stderr).toContain('newest 100');
  });

  test('have stamps that no calendar has', async () => {
    const far = [{ message: 'far', created_at: Number.MAX_SAFE_INTEGER }];
    const { code } = await ask({ [`GET /api/services/${id}/events`]: () => ({ events: far }) }, [
      'events',
      '--id',
      id,
    ]);
    expect(code).toBe(0);
  });
});

describe('metrics', () => {
  // COVERAGE 14, 108
  test('ask for one of the three windows', async () => {
    const answers = {
      [`GET /api/services/${id}/metrics?minutes=60`]: () => ({ samples: [{ at: 1, cpuCores: 2 }] }),
    };
    const { code, stdout } = await ask(answers, ['metrics', '--id', id, '--minutes', '60']);
    expect([code, stdout]).toEqual([0, expect.stringContaining('cpuCores')]);
    expect((await ask(answers, ['metrics', '--id', id, '--minutes', '61'])).stderr).toContain('15, 60, 360');
  });

  test('are given to programs as the API gave them', async () => {
    const answers = { [`GET /api/services/${id}/metrics?minutes=15`]: () => ({ anything: [1] }) };
    const { stdout } = await ask(answers, ['metrics', '--id', id, '--output', 'json']);
    expect(JSON.parse(stdout)).toEqual({ metrics: { anything: [1] } });
  });
});

// COVERAGE 19
describe('open', () => {
  const service = (fields: object) => ({
    [`GET /api/services/${id}`]: () => ({ service: { id, ...fields } }),
  });
  const session = {
    'GET /api/catalog': () => ({
      regions: [],
      templates: [],
      gpuCatalog: [],
      currency: 'USD',
      browserEnabled: true,
      payment: { provider: 'none', status: 'disabled' },
    }),
    [`POST /api/services/${id}/browser-session`]: () => ({ url: 'https://private.example/x' }),
  };

  test('prints the address of the service', async () => {
    const { stdout } = await ask(service({ endpoint: 'https://a.example' }), ['open', '--id', id]);
    expect(stdout).toBe('https://a.example\n');
  });

  test('tells why there is none', async () => {
    const { code, stderr } = await ask(service({ endpoint: null, state: 'paused' }), ['open', '--id', id]);
    expect(code).toBe(1);
    expect(stderr).toContain('it is paused, and has no httpPort');
  });

  test('shows the private address of a browser session on a terminal, with a warning', async () => {
    const { stdout, stderr } = await ask(session, ['open', '--id', id, '--browser'], { terminal: true });
    expect(stdout).toBe('https://private.example/x\n');
    expect(stderr).toContain('do not share it');
  });

  test.each([
    'javascript:alert(1)',
    'JavaScript:1',
    'file:///etc/passwd',
    'data:text/html,x',
    'vscode://x',
    'https://good.example@evil.example/',
    'https://a.example/\u202egnp',
    'https://a.example/\u0007',
    ' https://a.example',
  ])('prints no address that is none of the web: %j', async (url) => {
    const private_ = { ...session, [`POST /api/services/${id}/browser-session`]: () => ({ url }) };
    const browser = await ask(private_, ['open', '--id', id, '--browser'], { terminal: true });
    const plain = await ask(service({ endpoint: url }), ['open', '--id', id]);
    expect([browser.code, browser.stdout, plain.code, plain.stdout]).toEqual([1, '', 1, '']);
    expect(browser.stderr).not.toContain(url.trim().slice(0, 12));
    expect(plain.stderr).toContain('no plain http or https address');
  });

  test.each(['http://a.example:8080/x', 'a.example', 'a.example:443/x', '[2001:db8::1]:80'])(
    'prints the address of a service as %s',
    async (endpoint) => {
      const { stdout } = await ask(service({ endpoint }), ['open', '--id', id]);
      expect(stdout).toBe(`${endpoint}\n`);
    },
  );

  test('asks for no browser session when it could not be shown in private', async () => {
    const { code, requests } = await ask(session, ['open', '--id', id, '--browser']);
    expect(code).toBe(1);
    expect(requests.filter(({ method }) => method === 'POST')).toEqual([]);
  });

  // COVERAGE 112
  test('asks for no browser session where the catalog offers none', async () => {
    const none = {
      ...session,
      'GET /api/catalog': () => ({ ...session['GET /api/catalog']?.(), browserEnabled: false }),
    };
    const { code, requests } = await ask(none, ['open', '--id', id, '--browser'], { terminal: true });
    expect(code).toBe(1);
    expect(requests.filter(({ method }) => method === 'POST')).toEqual([]);
  });
});

describe('an account is read for its inventory', () => {
  const lists = {
    'GET /api/account': () => ({ ...account, services: [{ id, name: 'front', hourlyMicros: 5 }] }),
    'GET /api/registries': () => ({ registries: [] }),
  };

  test('without the built-in templates, whether they say so or the catalog does', async () => {
    const templates = [
      { id: 'pytorch', name: 'pytorch' },
      { id: other, name: 'own' },
    ];
    const catalog = {
      regions: [],
      templates: [{ id: 'pytorch' }],
      gpuCatalog: [],
      currency: 'USD',
      browserEnabled: false,
      payment: { provider: 'none', status: 'disabled' },
    };
    const answers = {
      ...lists,
      'GET /api/templates': () => ({ templates }),
      'GET /api/catalog': () => catalog,
    };
    const { stdout } = await ask(answers, ['inventory', '--output', 'json']);
    expect(JSON.parse(stdout).items.map(({ name }: { name: string }) => name)).toEqual(['front', 'own']);
  });

  test('although it has no templates to offer, which is said', async () => {
    const { code, stdout, stderr } = await ask(lists, ['inventory']);
    expect([code, stdout]).toEqual([0, expect.stringContaining('front')]);
    expect(stderr).toContain('no list of templates');
  });
});
