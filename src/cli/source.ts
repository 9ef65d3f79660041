/** What a fleet is made from: the documents, and the account of the environment. */
import { readFileSync } from 'node:fs';
import { Sensitive, UserError } from '../base/index.ts';
import { createFileSource, readFolder, type DesiredSource } from '../desired/index.ts';
import type { EnvironmentAccount } from '../manager/index.ts';
import { baseAddressProblem, credentialsHeaderProblem } from '../resources/index.ts';
import type { Context } from './context.ts';
import type { FleetFlags } from './options.ts';
import { secretsDirectory } from './secrets-dir.ts';

/** `watch`: reads continuously; otherwise the folder is read once. `onNote`: for what is worth a line about `--secrets-dir`. */
export function openSource(
  flags: Pick<FleetFlags, 'source' | 'secretsDir'>,
  context: Context,
  watch: boolean,
  onNote?: (line: string) => void,
): DesiredSource {
  const { source } = flags;
  const secrets = secretsDirectory(flags, context, onNote);
  if (watch) {
    const { clock, ports } = context;
    return createFileSource({ directory: source, clock, watchFolder: ports?.watchFolder, secrets });
  }
  return {
    description: source,
    start: () => readFolder(source, secrets),
    stop: async () => undefined,
  };
}

/** The environment's account, and where its key is looked for. */
export interface GivenAccount extends EnvironmentAccount {
  readonly keySource: string;
}

/** FLEETKEEPER_API_URL, FLEETKEEPER_API_KEY or FLEETKEEPER_API_KEY_FILE, and FLEETKEEPER_API_KEY_HEADER; never an argument. */
export function environmentAccount({ environment, local }: Context): GivenAccount {
  const url = environment['FLEETKEEPER_API_URL'] || undefined;
  if (url !== undefined) {
    const problem = baseAddressProblem(url, false);
    if (problem)
      throw new UserError(`FLEETKEEPER_API_URL ${problem}`, 'set it to the base address of the API');
  }
  const credentialsHeader = environment['FLEETKEEPER_API_KEY_HEADER'] || undefined;
  const headerProblem =
    credentialsHeader === undefined ? undefined : credentialsHeaderProblem(credentialsHeader);
  if (headerProblem !== undefined) {
    throw new UserError(
      `FLEETKEEPER_API_KEY_HEADER: ${JSON.stringify(credentialsHeader)} ${headerProblem}`,
      'set it to the header in which the provider expects the key, or leave it out for Authorization: Bearer KEY',
    );
  }
  // As from a file: a line break at the end is of whoever wrote it there.
  const key = environment['FLEETKEEPER_API_KEY']?.trim();
  const keyFile = environment['FLEETKEEPER_API_KEY_FILE'];
  return {
    url,
    credentialsHeader,
    isLocal: local !== undefined,
    keySource: !key && keyFile ? keyFile : 'FLEETKEEPER_API_KEY',
    apiKey: () => {
      if (key) return new Sensitive(key);
      return keyFile ? readKeyFile(keyFile).key : undefined;
    },
    apiKeyProblem: () => (key || !keyFile ? undefined : readKeyFile(keyFile).problem),
  };
}

interface KeyFile {
  readonly key?: Sensitive<string>;
  readonly problem?: string;
}

/** A key file that can't be read now is as good as none: requests are not sent, and it is read again. */
function readKeyFile(file: string): KeyFile {
  try {
    const key = readFileSync(file, 'utf8').trim();
    if (key === '')
      return { problem: `put the key into ${file}, the file of FLEETKEEPER_API_KEY_FILE: it is empty` };
    return { key: new Sensitive(key) };
  } catch (error) {
    const { message } = error as Error;
    return { problem: `make the file of FLEETKEEPER_API_KEY_FILE readable: ${message}` };
  }
}
