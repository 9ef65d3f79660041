/** `catalog`, with the reference control plane and with providers that speak the contract in another way. */
import { writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryFile } from '../../support/temporary.ts';
import { dialectNamed, dialects } from '../../dialects/index.ts';
import { apiKey, Provider } from '../../dialects/provider/provider.ts';
import { rendered } from '../../dialects/render.ts';
import { run } from '../../unit/cli/support.ts';
import { errorForm, serve, type ScriptedServer } from '../api/support.ts';
import { key, startWorld, trainer } from '../control-plane/support.ts';

async function catalogOf(url: string, apiKeyOf: string, ...more: string[]) {
  const environment = { FLEETKEEPER_API_URL: url, FLEETKEEPER_API_KEY: apiKeyOf };
  const { code, stdout, stderr } = await run(['catalog', ...more], { environment });
  return { code, text: stdout.replaceAll(url, 'URL'), stderr };
}

test('the catalog of the reference control plane has regions, prices, GPUs, templates and limits', async () => {
  await using world = await startWorld();
  await world.ok('POST', '/api/volumes', { name: 'data', region: 'standard', sizeGb: 10 });
  expect(await catalogOf(world.url, key.alice)).toMatchInlineSnapshot(`
    {
      "code": 0,
      "stderr": "",
      "text": "Account default/default at URL, 100.00 USD

    REGION     GEOGRAPHIES             USD/H: GPU   CPU     GB MEMORY   GB STORAGE
    standard   europe, north-america   0.90         0.012   0.0015      0.00014
    economy    europe, asia            0.40         0.006   0.0008      0.0001

    GPU    NAME          GB MEMORY        USD/H
    h100   NVIDIA H100   10, 20, 40, 80   0.90 (standard), 0.40 (economy)
    a100   NVIDIA A100   10, 20, 40, 80   0.90 (standard), 0.40 (economy)
    l4     NVIDIA L4     24               0.90 (standard), 0.40 (economy)

    TEMPLATE       FROM       IMAGE                                            GPU, CPU, GB   PORT   NEEDS
    Web server     built in   docker.io/library/nginx:1.29                     0, 1, 2        80     -
    GPU notebook   built in   quay.io/jupyter/pytorch-notebook:cuda12-latest   1, 8, 32       8888   JUPYTER_TOKEN

    LIMIT                 USED   MOST
    volumes               1      50
    templates             0      50
    registries            0      20
    GB of a volume        -      10 to 4096
    minutes until sleep   -      1 to 1440

    A catalog shows what is offered, not what is free now.
    ",
    }
  `);
});

test('programs get the same in micro-USD per hour', async () => {
  await using world = await startWorld();
  await world.ok('POST', '/api/templates', {
    name: 'mine',
    image: trainer.image,
    resources: trainer.resources,
  });
  const { code, text } = await catalogOf(world.url, key.alice, '--output', 'json');
  const [offer] = JSON.parse(text).accounts;
  expect(code).toBe(0);
  expect(offer.regions[1]).toEqual({
    name: 'economy',
    description: 'Shared hosts at a lower price',
    geographies: ['europe', 'asia'],
    prices: {
      basis: 'catalog',
      gpuHourMicros: 400_000,
      cpuHourMicros: 6000,
      memoryGbHourMicros: 800,
      storageGbHourMicros: 100,
    },
  });
  expect(
    offer.templates.map(({ name, builtIn }: { name: string; builtIn: boolean }) => [name, builtIn]),
  ).toEqual([
    ['Web server', true],
    ['GPU notebook', true],
    ['mine', false],
  ]);
  expect(offer).toMatchObject({ account: 'default/default', balanceMicros: 100_000_000, unreadable: [] });
});

/** A provider written from the contract alone, whose answers are put into a dialect. */
function speaking(dialect: string): Promise<ScriptedServer> {
  const provider = new Provider(() => 0);
  const spoken = dialectNamed(dialect);
  return serve((response, { method, path, headers }) => {
    const asked = { method, path };
    const { authorization } = headers;
    const answer = provider.handle({ ...asked, key: undefined, authorization, body: undefined });
    const { status, body } = rendered(spoken, asked, answer.status, answer.body);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
}

describe('a provider that the contract alone describes', () => {
  test.each(dialects.filter(({ silence }) => !/refus/.test(silence)).map(({ name }) => name))(
    'is shown in the dialect %s',
    async (dialect) => {
      await using server = await speaking(dialect);
      const { code, text } = await catalogOf(server.url, apiKey);
      expect(code).toBe(0);
      expect(text).toMatch(/^standard +/m);
      expect(text).toMatch(/^volumes +0 +50$/m);
    },
  );

  test('has no prices unless the Account declares them', async () => {
    await using server = await speaking('plain');
    const { text } = await catalogOf(server.url, apiKey);
    expect(text).toMatch(/^standard +europe, america +- +- +- +-$/m);
    const file = temporaryFile('account.yaml');
    const prices = '{region: standard, cpuHourMicros: 12000, memoryGbHourMicros: 1500}';
    writeFileSync(
      file,
      `apiVersion: fleetkeeper.dev/v1alpha1\nkind: Account\nmetadata: {name: default}\nspec: {url: "${server.url}", prices: [${prices}]}\n`,
    );
    const environment = { FLEETKEEPER_API_KEY: apiKey };
    const declared = await run(['catalog', '--source', dirname(file)], { environment });
    expect(declared.stdout).toMatch(/^standard +europe, america +- +0\.012 +0\.0015 +-$/m);
    expect(declared.stdout).toContain('Some prices are those that the Account declares.');
  });
});

test('what can not be read is named with its reason, and the rest is shown', async () => {
  await using server = await serve((response, { path }) => {
    if (path === '/api/account') response.end('{"balanceMicros":"much","services":[],"volumes":[]}');
    else if (path === '/api/catalog') response.end('{"regions":["north\\u001b[2J",{"name":"south"},7]}');
    else response.writeHead(503).end(JSON.stringify(errorForm('busy', 'try\nlater')));
  });
  const { code, text } = await catalogOf(server.url, 'key');
  expect(code).toBe(0);
  expect(text).not.toContain('\u001b');
  expect(text).toMatch(/^north/m);
  expect(text).toMatch(/^south/m);
  expect(text).toMatch(/^not readable: templates: .*503.*busy/m);
  expect(text).toMatch(/^not readable: GPUs: /m);
  expect(text).toMatch(/^not readable: balance: /m);
});

test('without a catalog the exit code is 1', async () => {
  await using server = await serve((response) =>
    response.writeHead(503).end(JSON.stringify(errorForm('a', 'b'))),
  );
  expect((await catalogOf(server.url, 'key')).code).toBe(1);
});
