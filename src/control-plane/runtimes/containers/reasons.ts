/**
 * What a tenant learns of a failed launch: a sentence of this table, and the id of the operation. The operator finds the own
 * message of the engine or cluster in the log by that id. These repeat what they encountered: addresses of their network,
 * paths of a machine, names of nodes, the answers of servers that only they reach.
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
  Unschedulable: 'no node has room for these resources at the moment',
  VolumeNotCreated: 'the volume could not be created',
  VolumeNotGrown: 'the volume could not be made larger',
  NotCreated: 'the container could not be created',
  NotStarted: 'the container could not be started',
  TooSlow: 'the container did not start in time',
} as const;

export type LaunchReason = keyof typeof reasons;

export function sentenceOf(reason: LaunchReason): string {
  return reasons[reason];
}

/** What an engine's message looks like, and what that means. */
export type Form = readonly [RegExp, LaunchReason];

/** The first that fits. */
export function firstOf(forms: readonly Form[], message: string, otherwise: LaunchReason): LaunchReason {
  return forms.find(([form]) => form.test(message))?.[1] ?? otherwise;
}
