/**
 * Which digest key a new state of a folder gets:
 *
 * | given                                                         | the key                                                         |
 * |---------------------------------------------------------------|-----------------------------------------------------------------|
 * | `--digest-key-file`, `FLEETKEEPER_DIGEST_KEY` or `…_KEY_FILE` | derived from that text                                          |
 * | none of these, and `--owner`                                  | derived from the API keys of the fleet's accounts and the owner's name |
 * | neither                                                       | random                                                          |
 *
 * A variable that is set and empty is an error. The first two are the same in every process with the same input: it recognises the marks of another one without a
 * state. Whoever names the owner claims all marks of that owner for this fleet. Without that claim, two folders of
 * the same name must not take each other's things.
 */
import { statSync } from 'node:fs';
import { UserError, credentialKeyBytes, suppliedKeyBytes } from '../base/index.ts';
import { readFolder, type DesiredSnapshot } from '../desired/index.ts';
import { AccountKeys, accountSpecs } from '../manager/index.ts';
import type { OwnerChoice, SharedKey } from '../state/index.ts';
import type { Context } from './context.ts';
import { ownerChoice, readTextFile, type FleetFlags } from './options.ts';
import { secretsDirectory } from './secrets-dir.ts';
import { environmentAccount } from './source.ts';

type IdentityFlags = Pick<FleetFlags, 'source' | 'owner' | 'digestKeyFile' | 'secretsDir'>;

/** Fewer characters can be guessed, and marks that anybody in the account can read would tell when a guess is right. */
const leastCharacters = 32;
/** The least that is taken for a random API key. */
const leastCredentialCharacters = 16;

/** By what the state `file` of a folder marks what it owns. `read`: the documents, where the source is no folder. */
export async function fleetIdentity(
  context: Context,
  flags: IdentityFlags,
  file: string,
  read = () => readFolder(flags.source, secretsDirectory(flags, context)),
): Promise<OwnerChoice> {
  const owner = ownerChoice(flags);
  const digestKey = suppliedKey(context, flags) ?? (await credentialKey(context, flags, file, read));
  return { ...owner, digestKey };
}

function suppliedKey({ environment }: Context, { digestKeyFile }: IdentityFlags): SharedKey | undefined {
  const text = environment['FLEETKEEPER_DIGEST_KEY'];
  const file = environment['FLEETKEEPER_DIGEST_KEY_FILE'];
  if (digestKeyFile !== undefined) return keyOfFile(digestKeyFile, `--digest-key-file ${digestKeyFile}`);
  for (const [name, value] of Object.entries({
    FLEETKEEPER_DIGEST_KEY: text,
    FLEETKEEPER_DIGEST_KEY_FILE: file,
  }))
    if (value === '') throw emptyVariable(name);
  if (text !== undefined) return keyOf(text, 'FLEETKEEPER_DIGEST_KEY');
  return file ? keyOfFile(file, `FLEETKEEPER_DIGEST_KEY_FILE (${file})`) : undefined;
}

/** As a CI system passes a secret that is not there. Taken for no key, changed values would not roll out. */
function emptyVariable(name: string): UserError {
  return new UserError(
    `${name} is set, and empty: there is no digest key in it`,
    'check that the secret of the CI exists, and that this job may read it; unset the variable to go on without a key',
  );
}

function keyOfFile(file: string, suppliedBy: string): SharedKey {
  return keyOf(readTextFile(file, 'the digest key'), suppliedBy);
}

function keyOf(text: string, suppliedBy: string): SharedKey {
  const key = text.trim();
  if (key.length < leastCharacters) {
    throw new UserError(
      `the digest key of ${suppliedBy} has ${key.length} characters: a key that can be guessed protects nothing`,
      `make one with at least ${leastCharacters}, for example with \`openssl rand -hex 32\``,
    );
  }
  return { bytes: suppliedKeyBytes(key), suppliedBy };
}

/** Its lock makes it, empty. */
export function isWritten(file: string): boolean {
  return (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

async function credentialKey(
  context: Context,
  { owner }: IdentityFlags,
  file: string,
  read: () => Promise<DesiredSnapshot>,
): Promise<SharedKey | undefined> {
  if (owner === undefined || isWritten(file)) return undefined;
  const snapshot = await read();
  const environment = environmentAccount(context);
  const keys = new AccountKeys(environment);
  const found = [...accountSpecs(snapshot, environment)].flatMap(([name, { spec, origin }]) => {
    const key = keys.keyOf({ name, spec, origin }, snapshot);
    return key.kind === 'key' ? [key.key.reveal()] : [];
  });
  const credentials = [...new Set(found)].filter((key) => key.length >= leastCredentialCharacters).sort();
  if (credentials.length === 0) return undefined;
  return { bytes: credentialKeyBytes(credentials, `the owner ${owner}`), suppliedBy: undefined };
}
