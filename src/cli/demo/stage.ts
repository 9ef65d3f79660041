/**
 * What the demo plays on: a control plane and a manager in this process, on a copy of the example fleet in a
 * temporary folder. All of it is what the commands `control-plane` and `run` use, with shorter waits.
 */
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { invariant } from '../../base/index.ts';
import { parseAccounts, startControlPlane } from '../../control-plane/main.ts';
import type { DesiredSnapshot } from '../../desired/index.ts';
import { Manager } from '../../manager/index.ts';
import { defaultShortenedGrace, type PassResult } from '../../engine/index.ts';
import type { ObjectKey } from '../../resources/index.ts';
import { lockState, openState } from '../../state/index.ts';
import { createLogger, createMetrics, type Metrics } from '../../telemetry/index.ts';
import type { Context } from '../context.ts';
import { examplesFolder } from '../examples.ts';
import { openColleague, type Colleague } from './colleague.ts';
import { serveLocalPage, type LocalPage } from '../manager-server.ts';
import { ownerChoice, readTextFile, sameFleetFlags, stateFile } from '../options.ts';
import { addSchema, withSchemaLine } from '../schema-line.ts';
import { openSource } from '../source.ts';

/** The lifecycle is accelerated by this factor: provisioning takes half a second. */
export const timeScale = 16;
const pollSeconds = 0.5;
const grace = { ...defaultShortenedGrace, goneMs: 1000 };

export interface DemoStage {
  /** The manager's source; people may edit it. */
  readonly folder: string;
  readonly url: string;
  readonly logFile: string;
  readonly page: LocalPage;
  readonly manager: Manager;
  readonly metrics: Metrics;
  readonly colleague: Colleague;
  readonly colleagueKey: string;
  /** Stops everything, in order, and removes the temporary folder. */
  close(): Promise<void>;
}

export interface DemoAudience {
  readonly onPass: (key: ObjectKey, result: PassResult) => void;
  readonly onSource: (snapshot: DesiredSnapshot) => void;
}

/** Resolves with a stage on which the manager is not started yet. */
export async function openStage(context: Context, audience: DemoAudience): Promise<DemoStage> {
  const { clock, random } = context;
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'fleetkeeper-demo-')));
  const closers: (() => Promise<void> | void)[] = [() => rmSync(root, { recursive: true, force: true })];
  const close = async () => {
    for (const closer of closers.splice(0).toReversed()) await closer();
  };
  try {
    const logFile = path.join(root, 'manager.log');
    const logger = createLogger('warn', { write: (line) => appendFileSync(logFile, line) });
    const accountsFile = path.join(examplesFolder, 'control-plane', 'accounts.yaml');
    const accounts = parseAccounts(readTextFile(accountsFile, 'the accounts file'), accountsFile);
    const colleagueKey = accounts.accounts[0]?.apiKeys[1];
    invariant(colleagueKey !== undefined, `${accountsFile} gives the colleague no key`);
    const database = path.join(root, 'control-plane.db');
    const listen = { host: '127.0.0.1', port: 0 };
    const server = await startControlPlane({ listen, database, accounts, timeScale, clock, random, logger });
    closers.push(() => server.close());
    const folder = await copyFleet(root, server.url);
    const colleague = openColleague(context, server.url, colleagueKey);
    closers.push(() => colleague.close());
    const fleet = await openManager(context, folder, audience, logger);
    closers.push(fleet.close);
    const { manager, metrics, page } = fleet;
    return { folder, url: server.url, logFile, page, manager, metrics, colleague, colleagueKey, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function copyFleet(root: string, url: string): Promise<string> {
  const folder = path.join(root, 'fleet');
  const examples = path.join(examplesFolder, 'fleet');
  mkdirSync(folder);
  // What starts with a dot is the state of somebody who has tried the examples by hand.
  for (const name of readdirSync(examples).filter((entry) => !entry.startsWith('.'))) {
    writeFileSync(
      path.join(folder, name),
      withSchemaLine(name, readFileSync(path.join(examples, name), 'utf8')),
    );
  }
  await addSchema(folder);
  editField(path.join(folder, 'account.yaml'), 'url', url);
  editField(path.join(folder, 'account.yaml'), 'pollSeconds', String(pollSeconds));
  return folder;
}

/** Gives the one field of that name in a file another value, as a person would. Returns the old value. */
export function editField(file: string, field: string, value: string): string {
  const pattern = new RegExp(`^( *${field}: +)([^ #\n]+)`, 'gm');
  const text = readFileSync(file, 'utf8');
  const found = [...text.matchAll(pattern)];
  invariant(found.length === 1, `${file} should have the field ${field} once, not ${found.length} times`);
  writeFileSync(
    file,
    text.replace(pattern, (_all, start: string) => `${start}${value}`),
  );
  return found[0]?.[2] ?? '';
}

/** As the command `run --listen` does. */
async function openManager(
  context: Context,
  folder: string,
  audience: DemoAudience,
  logger: ReturnType<typeof createLogger>,
) {
  const { clock, random } = context;
  const metrics = createMetrics();
  const file = stateFile({ source: folder });
  const lock = lockState(file, `process ${context.pid} on ${context.hostname} (fleetkeeper demo)`);
  const state = openState(file, random, ownerChoice({ source: folder }));
  const commandFlags = sameFleetFlags({ source: folder });
  const manager: Manager = new Manager({
    source: openSource({ source: folder }, context, true),
    store: state.store,
    environment: { url: undefined, apiKey: () => undefined },
    clock,
    random,
    logger,
    metrics,
    settleMs: 5000,
    grace,
    allowMassChange: false,
    mode: 'manage',
    commandFlags,
    onSource: audience.onSource,
    onPass: (key, result) => {
      audience.onPass(key, result);
      page.passed(key);
    },
  });
  const served = { manager, metrics, logger, file, commandFlags, command: 'demo' } as const;
  const page = await serveLocalPage(context, served, 0);
  const close = async () => {
    await manager.stop();
    await page.close();
    state.close();
    lock.release();
  };
  return { manager, metrics, page, close };
}
