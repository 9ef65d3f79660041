/** Which sentence a tenant learns (containers/reasons.ts), by what Docker and podman say. */
import { firstOf, type Form, type LaunchReason } from '../containers/reasons.ts';

/** What the engine was asked to do when it refused. */
export type LaunchStep = 'pull' | 'create' | 'start' | 'volume';

const forms: Readonly<Record<LaunchStep, readonly Form[]>> = {
  pull: [
    [
      /denied|unauthorized|authentication|forbidden|manifest unknown|not found|name unknown/i,
      'ImageNotAvailable',
    ],
  ],
  create: [
    [/no such image|image not known|no such container image/i, 'ImageMissing'],
    [/cpu|memory/i, 'ResourcesRefused'],
  ],
  start: [
    // What the engine needs for its network is missing on its machine. The command is not to blame.
    [/^plugin type="[^"]*" failed|^netavark: /i, 'NotStarted'],
    [/executable file.*not found|no such file or directory/i, 'CommandNotFound'],
    [/permission denied|exec format error|is a directory/i, 'CommandNotExecutable'],
    [/memory|cpu/i, 'ResourcesRefused'],
  ],
  volume: [],
};
const otherwise: Readonly<Record<LaunchStep, LaunchReason>> = {
  pull: 'ImageNotPulled',
  create: 'NotCreated',
  start: 'NotStarted',
  volume: 'VolumeNotCreated',
};

/** `words`: the engine's message, of any kind. */
export function reasonOf(step: LaunchStep, words: string): LaunchReason {
  return firstOf(forms[step], words, otherwise[step]);
}
