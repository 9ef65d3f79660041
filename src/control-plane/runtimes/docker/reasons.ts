/**
 * What a tenant learns of a failed launch: a sentence of this table, and the id of the operation. The operator finds
 * the engine's own message in the log by that id. An engine repeats what it encountered: addresses of its network,
 * paths of its machine, the answers of servers that only it reaches.
 */
const reasons = {
  ImageNameInvalid: 'the image is not the name of an image',
  RegistryNotAllowed:
    'the image is in a registry that this control plane does not pull from: it has a private address, or no public name',
  ImageNotAvailable:
    'the image can not be pulled: there is none of that name, or this account has no access to it',
  ImageNotPulled: 'the image can not be pulled: its registry did not serve it',
  ImageMissing: "the image is not among the control plane's own images",
  CommandNotFound: 'the command was not found in the image',
  CommandNotExecutable: 'the command can not be executed',
  ResourcesRefused: 'a container can not be limited to these resources here',
  NoFreeGpu: 'no GPU of that model is free at the moment',
  VolumeNotCreated: 'the volume could not be created',
  NotCreated: 'the container could not be created',
  NotStarted: 'the container could not be started',
} as const;

export type LaunchReason = keyof typeof reasons;

export function sentenceOf(reason: LaunchReason): string {
  return reasons[reason];
}

/** What the engine was asked to do when it refused. */
export type LaunchStep = 'pull' | 'create' | 'start' | 'volume';

/** By how Docker and podman say it. Several forms may fit: the first counts. */
const forms: Readonly<Record<LaunchStep, readonly (readonly [RegExp, LaunchReason])[]>> = {
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
  return forms[step].find(([form]) => form.test(words))?.[1] ?? otherwise[step];
}
