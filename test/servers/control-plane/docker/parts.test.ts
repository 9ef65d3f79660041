import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { Sensitive } from '../../../../src/base/sensitive.ts';
import { UserError } from '../../../../src/base/user-error.ts';
import { withoutMadeUpGpus } from '../../../../src/control-plane/runtimes/containers/made-up-gpus.ts';
import {
  connectEngine,
  engineAddress,
} from '../../../../src/control-plane/runtimes/docker/engine/connect.ts';
import { containerSpec, endReason } from '../../../../src/control-plane/runtimes/docker/container-spec.ts';
import { jsonLines, pieces } from '../../../../src/control-plane/runtimes/docker/engine/frames.ts';
import { imageOf } from '../../../../src/control-plane/runtimes/containers/image.ts';
import { newestLogs } from '../../../../src/control-plane/runtimes/docker/logs.ts';
import { withoutSecrets } from '../../../../src/control-plane/runtimes/containers/redaction.ts';
import { StatisticsHistory } from '../../../../src/control-plane/runtimes/containers/statistics.ts';
import { defaultConfig } from '../../../../src/control-plane/main.ts';

function frame(stream: 1 | 2, text: string): Buffer {
  const header = Buffer.from([stream, 0, 0, 0, 0, 0, 0, 0]);
  header.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([header, Buffer.from(text)]);
}

function inChunksOf(size: number, bytes: Buffer): Readable {
  const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
  return Readable.from(chunks, { objectMode: false });
}

describe('a stream of a container', () => {
  const bytes = Buffer.concat([frame(1, 'one\n'), frame(2, 'twö\n'), frame(1, ''), frame(1, 'three\n')]);

  test.each([1, 3, 8, 11, 1000])('is taken apart whatever its chunks are: %i bytes', async (size) => {
    const texts = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
    for await (const piece of pieces(inChunksOf(size, bytes))) texts[piece.stream].push(piece.bytes);
    expect(Buffer.concat(texts.stdout).toString()).toBe('one\nthree\n');
    expect(Buffer.concat(texts.stderr).toString()).toBe('twö\n');
  });

  test('keeps its newest MiB, both outputs in order', async () => {
    const few = await newestLogs(inChunksOf(7, bytes));
    expect(few).toBe('one\ntwö\nthree\n');
    const lines = Array.from({ length: 300_000 }, (_, index) => `line ${index}\n`).join('');
    const many = Buffer.concat([frame(1, lines), frame(2, 'the end\n')]);
    const kept = await newestLogs(inChunksOf(65_536, many));
    expect(kept).toBe(lines.slice(lines.length - kept.length + 'the end\n'.length) + 'the end\n');
    expect(kept).toMatch(/^line \d+\n/);
    expect(kept.length).toBeGreaterThan(2 ** 20 - 20);
    expect(kept.length).toBeLessThanOrEqual(2 ** 20);
  });

  test('of JSON lines may be cut anywhere, and a line has a bound', async () => {
    const source = Buffer.from('{"a":"ä"}\r\n\n{"b":2}');
    const lines: unknown[] = [];
    for await (const line of jsonLines(inChunksOf(5, source))) lines.push(line);
    expect(lines).toEqual([{ a: 'ä' }, { b: 2 }]);
    const endless = jsonLines(inChunksOf(65_536, Buffer.alloc(2 ** 21, 'x')));
    await expect(endless.next()).rejects.toThrow('1 MiB');
  });
});

describe('the image of a service', () => {
  const digest = `sha256:${'0123456789abcdef'.repeat(4)}`;

  test.each([
    ['nginx', 'docker.io/library/nginx:latest', { repository: 'docker.io/library/nginx', tag: 'latest' }],
    ['acme/app:1.4', 'docker.io/acme/app:1.4', { repository: 'docker.io/acme/app', tag: '1.4' }],
    ['localhost:5000/app', 'localhost:5000/app:latest', { repository: 'localhost:5000/app', tag: 'latest' }],
    ['ghcr.io/a/b:1@' + digest, `ghcr.io/a/b@${digest}`, { repository: 'ghcr.io/a/b', tag: digest }],
    ['localhost/app:2', 'localhost/app:2', undefined],
  ])('%s is %s', (name, reference, toPull) => {
    expect(imageOf(name)).toEqual({ reference, toPull });
  });

  test('is never taken for the id of an image that the engine has', () => {
    expect(imageOf('ab47d79a2f73')?.toPull?.repository).toBe('docker.io/library/ab47d79a2f73');
    expect(imageOf(digest)?.toPull?.repository).toBe('docker.io/library/sha256');
  });

  test.each([
    '',
    'a b',
    'UPPER/x:1',
    'x:',
    'x:-1',
    'x@sha256:12',
    `localhost/app@${digest}`,
    'https://a.b/c',
  ])('is not "%s"', (name) => {
    expect(imageOf(name)).toBe(undefined);
  });
});

test('what an engine says is told without credentials and values', () => {
  const launch = {
    environment: new Sensitive({ TOKEN: 'a/"b"', MODE: 'on', LONG: 'a/"b" and more' }),
    credentials: new Sensitive({ username: 'me', password: 'p w' }),
  };
  const message = 'on a/\\"b\\" a%2F%22b%22 a/"b" and more: me p%20w "p w"';
  const reported = withoutSecrets(message, launch as never);
  expect(reported).toBe('on [redacted] [redacted] [redacted]: [redacted] [redacted] "[redacted]"');
  expect(withoutSecrets('x'.repeat(5000), launch as never).length).toBeLessThan(1100);
});

test.each([
  [0, false, 'the container ended with exit code 0'],
  [137, true, 'the container ended with exit code 137: it ran out of its 0.5 GB of memory'],
  [137, false, /^the container ended with exit code 137: it was killed, .* 0\.5 GB of memory or by somebody/],
])('a container that ended with %i (out of memory: %s) says so', (ExitCode, OOMKilled, reason) => {
  const inspection = { State: { ExitCode, OOMKilled }, HostConfig: { Memory: 2 ** 29 } };
  expect(endReason(inspection as never)).toMatch(reason);
});

describe('the use of a service', () => {
  const startMs = Date.UTC(2026, 0, 1);
  const measured = (seconds: number, cpuSeconds: number, receivedBytes: number, memoryGb = 1) =>
    [
      {
        read: new Date(startMs + seconds * 1000).toISOString(),
        cpu_stats: { cpu_usage: { total_usage: cpuSeconds * 1e9 } },
        memory_stats: { usage: memoryGb * 2 ** 30 + 5000, stats: { inactive_file: 5000 } },
        networks: { eth0: { rx_bytes: receivedBytes }, eth1: { rx_bytes: 1 } },
      },
      startMs + seconds * 1000,
    ] as const;

  test('is told by what it has received, and assumed when it can not be told', () => {
    const history = new StatisticsHistory();
    expect(history.add('s', 'c1', ...measured(0, 0, 1000))).toBe(true);
    expect(history.add('s', 'c1', ...measured(15, 0, 1200))).toBe(false);
    expect(history.add('s', 'c1', ...measured(30, 0, 1800))).toBe(true);
    expect(history.add('s', 'c2', ...measured(45, 0, 1800))).toBe(true);
    expect(history.add('s', 'c2', ...measured(60, 0, 1800))).toBe(false);
  });

  test('is averaged over the intervals of a window', () => {
    const history = new StatisticsHistory();
    for (let index = 0; index <= 8; index += 1) {
      history.add('s', 'c', ...measured(index * 15, index * 15 * (index > 4 ? 2 : 1), 0, index));
    }
    const nowMs = startMs + 120_000;
    expect(history.metrics('s', 60, nowMs)).toMatchObject({
      minutes: 60,
      intervalSeconds: 60,
      simulated: false,
      samples: [
        { at: startMs + 60_000, cpuCores: 1, memoryGb: 2.5, gpuPercent: null },
        { at: startMs + 120_000, memoryGb: 6.5 },
      ],
    });
    expect(history.metrics('s', 15, nowMs + 3_600_000)).toMatchObject({ samples: [] });
    history.forget('s');
    expect(history.metrics('s', 60, nowMs)).toMatchObject({ samples: [] });
  });

  test('that nobody has measured counts as use, and is no sample of zeros', () => {
    const history = new StatisticsHistory();
    expect([0, 60_000].map((ms) => history.add('s', 'c', {}, startMs + ms))).toEqual([true, true]);
    expect(history.metrics('s', 60, startMs + 120_000)).toMatchObject({ samples: [] });
  });
});

describe('the container engine', () => {
  test.each([
    [undefined, undefined, { socketPath: '/var/run/docker.sock' }],
    ['/run/a.sock', 'tcp://b:1', { socketPath: '/run/a.sock' }],
    [undefined, 'unix:///run/podman/podman.sock', { socketPath: '/run/podman/podman.sock' }],
    [undefined, 'tcp://10.0.0.1:2375', { host: '10.0.0.1', port: 2375 }],
    [undefined, 'tcp://[::1]:2375', { host: '::1', port: 2375 }],
  ])('of --docker-socket %s and DOCKER_HOST %s is at %j', (socket, dockerHost, address) => {
    expect(engineAddress(socket, dockerHost)).toEqual(address);
  });

  test.each(['ssh://me@host', 'tcp://host', 'host:2375', 'https://host:2376'])(
    'is not at %s',
    (dockerHost) => {
      expect(() => engineAddress(undefined, dockerHost)).toThrow(UserError);
    },
  );

  test('that does not answer is named, with what to do', async () => {
    const connected = connectEngine({ socketPath: '/nonexistent/docker.sock' });
    await expect(connected).rejects.toThrow(/at \/nonexistent\/docker\.sock/);
    await expect(connected).rejects.toHaveProperty('remedy', expect.stringContaining('--docker-socket'));
  });
});

test('made-up GPUs are not offered, those of an operator are', () => {
  const gpusOf = (config: typeof defaultConfig) =>
    config.regions.flatMap(({ geographies }) => geographies.flatMap(({ gpus }) => Object.keys(gpus)));
  expect(gpusOf(withoutMadeUpGpus(defaultConfig))).toEqual([]);
  const [region] = defaultConfig.regions;
  if (!region) throw new Error('no region');
  const own = { ...defaultConfig, regions: [{ ...region, name: 'own' }] };
  expect(gpusOf(withoutMadeUpGpus(own))).toContain('h100');
});

test('resources that were recorded before there were minima do not become "unlimited" at the engine', () => {
  const request = {
    id: 'o',
    startedAtMs: 0,
    accountId: 'a',
    subjectId: 's',
    place: { region: 'standard', geography: 'europe' },
    kind: 'provision' as const,
    isResize: false,
    launch: {
      image: 'nginx',
      command: null,
      httpPort: null,
      volumeId: null,
      credentials: null,
      environment: new Sensitive({}),
      resources: { gpuCount: 0, cpu: 4e-10, memoryGb: 4e-10 },
      gpuModel: null,
    },
  };
  const { HostConfig } = containerSpec('i', request, 'nginx', [], { host: '127.0.0.1' });
  expect(HostConfig).toMatchObject({ NanoCpus: 10_000_000, Memory: 8 * 2 ** 20, MemorySwap: 8 * 2 ** 20 });
});
