/**
 * `--secrets-dir DIR`: Secrets of a folder as files NAMESPACE/NAME/KEY, as other tools write them (src/desired/secrets/).
 *
 * It is a flag and no setting of fleetkeeper.yaml: that file may come with a folder of somebody else, and would choose which files of this
 * machine are sent to the provider that the folder names.
 */
import { Option, type Command } from 'commander';
import type { SecretsDirectoryOptions } from '../desired/index.ts';
import { complain, type Context } from './context.ts';

export interface SecretsFlags {
  readonly secretsDir?: string;
}

export function withSecretsFlag(command: Command): Command {
  return command.addOption(
    new Option(
      '--secrets-dir <dir>',
      'Secrets of a folder as files NAMESPACE/NAME/KEY, beside those of documents',
    ),
  );
}

/** Undefined without the flag. */
export function secretsDirectory(
  { secretsDir: directory }: SecretsFlags,
  { clock }: Pick<Context, 'clock'>,
  onNote?: (line: string) => void,
): SecretsDirectoryOptions | undefined {
  return directory === undefined ? undefined : { directory, clock, onNote };
}

/** For commands that change something, or show what would. */
export function complainOfSecrets(context: Context): (line: string) => void {
  return (line) => complain(context, line);
}
