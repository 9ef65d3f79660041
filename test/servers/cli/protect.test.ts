/** What `protect` shows and does when its protection is lost while the command runs. */
import { existsSync, writeFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { scaledClock, systemClock } from '../../../src/base/index.ts';
import { errorForm, serve } from '../api/support.ts';
import { temporaryFile } from '../../support/temporary.ts';
import { CommandLine } from '../../unit/cli/support.ts';

const id = '0f8fad5b-d9cb-469f-a165-70867728950e';
/** A heartbeat takes a second. */
const factor = 30;

interface Asked {
  readonly id: string;
  readonly release: boolean;
  readonly key: string | undefined;
}

/** A provider of one service: `refusal` decides on each request for an activity, `listed` has those that it shows. */
async function world(refusal: (asked: Asked) => number | undefined) {
  const asked: Asked[] = [];
  const listed = new Map<string, object>();
  let isGone = false;
  const server = await serve((response, request) => {
    const answer = (status: number, body: object) => response.writeHead(status).end(JSON.stringify(body));
    if (isGone) return answer(404, errorForm('not_found'));
    if (request.method === 'GET') return answer(200, { activities: [...listed.values()] });
    const one = { ...JSON.parse(request.body), key: request.headers.authorization } as Asked;
    asked.push(one);
    const status = refusal(one);
    if (status !== undefined) return answer(status, errorForm('refused'));
    if (one.release) listed.delete(one.id);
    else listed.set(one.id, { ...one, released: false });
    return answer(200, { id: one.id, heartbeatSeconds: 30, expiresInSeconds: 300 });
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const [finish, keyFile] = [temporaryFile('finish'), temporaryFile('key')];
  writeFileSync(keyFile, 'first-key');
  const work = ['sh', '-c', 'while [ ! -e "$FINISH" ]; do sleep 0.05; done; exit 7'];
  const path = process.env['PATH'] ?? '';
  const environment = {
    FLEETKEEPER_API_URL: server.url,
    FLEETKEEPER_API_KEY_FILE: keyFile,
    FINISH: finish,
    PATH: path,
  };
  const clock = scaledClock(systemClock, factor);
  const line = new CommandLine(['protect', '--id', id, '--require', '--patience', '10m', '--', ...work], {
    environment,
    clock,
  });
  await line.shows('protected by', 'stderr');
  return {
    asked,
    listed,
    line,
    keyFile,
    gone: () => {
      isGone = true;
    },
    end: () => {
      if (!existsSync(finish)) writeFileSync(finish, '');
      return line.ended;
    },
  };
}

test('an activity that somebody else releases: a line at once, another one, and a refusal does not end that', async () => {
  let [released, isSpoiled] = ['', false];
  const { asked, listed, line, end } = await world((one) => {
    if (one.id === released) return 409;
    if (released === '' || isSpoiled) return undefined;
    isSpoiled = true;
    return 401;
  });
  // A list shows it: then two that lack it are proof.
  const first = asked[0]?.id ?? '';
  released = first;
  await line.shows('refused with 409', 'stderr');
  expect(line.stderr).toContain('nothing protects the service now');
  listed.delete(first);
  await line.shows('is registered in its place', 'stderr');
  await line.shows('refused with 401', 'stderr');
  expect(line.stderr).toMatch(/nothing protects the service: .* is not registered yet \(refused with 401/);
  await line.shows('protected again by', 'stderr');
  expect([...listed.keys()]).toHaveLength(1);
  expect(await end()).toBe(7);
  expect(listed.size).toBe(0);
});

test('a key that is rotated in its file is used after the old one was rejected', async () => {
  let valid = 'first-key';
  const { asked, listed, line, keyFile, end } = await world(({ key }) =>
    key === `Bearer ${valid}` ? undefined : 401,
  );
  valid = 'second-key';
  await line.shows('continue with a valid key', 'stderr');
  writeFileSync(keyFile, 'second-key\n');
  await line.shows('protected again by', 'stderr');
  expect(asked.at(-1)?.key).toBe('Bearer second-key');
  expect(await end()).toBe(7);
  expect(listed.size).toBe(0);
});

test('a service that is gone: a line, and the exit code of the command, which runs on', async () => {
  const { line, gone, end } = await world(() => undefined);
  gone();
  await line.shows('the service may be gone', 'stderr');
  expect(await end()).toBe(7);
});
