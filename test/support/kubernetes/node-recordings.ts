/**
 * What a node writes into the status of a Pod: recorded from Kubernetes 1.33 with containerd 1.6, by launching each of
 * these. Addresses and times are left out.
 */
import type { Fields } from './objects.ts';

function conditions(isReady: boolean, reason?: string): Fields[] {
  const ready = isReady ? { status: 'True' } : { status: 'False', reason: reason ?? 'ContainersNotReady' };
  return [
    { type: 'Initialized', status: 'True' },
    { type: 'Ready', ...ready },
    { type: 'ContainersReady', ...ready },
    { type: 'PodScheduled', status: 'True' },
  ];
}

function waiting(reason: string, message?: string): Fields {
  const state = { waiting: { reason, ...(message !== undefined && { message }) } };
  return { phase: 'Pending', conditions: conditions(false), containerStatuses: [{ name: 'service', state }] };
}

function terminated(phase: string, state: Fields, more: Fields = {}): Fields {
  return {
    phase,
    ...more,
    conditions: conditions(false, 'PodFailed'),
    containerStatuses: [{ name: 'service', state: { terminated: state } }],
  };
}

const resolving =
  'failed to pull and unpack image "registry.invalid/acme/app:1": failed to resolve reference "registry.invalid/acme/app:1": failed to do request: Head "https://registry.invalid/v2/acme/app/manifests/1": dial tcp: lookup registry.invalid on 10.255.255.53:53: no such host';
const starting =
  'failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: exec: ';

export const recordings = {
  creating: waiting('ContainerCreating'),
  running: {
    phase: 'Running',
    conditions: conditions(true),
    containerStatuses: [{ name: 'service', ready: true, state: { running: {} } }],
  },
  unschedulable: {
    phase: 'Pending',
    conditions: [
      {
        type: 'PodScheduled',
        status: 'False',
        reason: 'Unschedulable',
        message:
          '0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.',
      },
    ],
  },
  imageMissing: waiting(
    'ErrImageNeverPull',
    'Container image "localhost/none:1" is not present with pull policy of Never',
  ),
  imageNotPulled: waiting('ErrImagePull', resolving),
  imageBackOff: waiting(
    'ImagePullBackOff',
    `Back-off pulling image "registry.invalid/acme/app:1": ErrImagePull: ${resolving}`,
  ),
  imageNameInvalid: waiting(
    'InvalidImageName',
    `Failed to apply default image tag "docker.io/Not/An": couldn't parse image name "docker.io/Not/An": invalid reference format: repository name (Not/An) must be lowercase`,
  ),
  commandNotFound: terminated('Failed', {
    exitCode: 128,
    reason: 'StartError',
    message: `${starting}"no-such-command": executable file not found in $PATH: unknown`,
  }),
  commandNotExecutable: terminated('Failed', {
    exitCode: 128,
    reason: 'StartError',
    message: `${starting}"/etc": permission denied: unknown`,
  }),
  exited: terminated('Failed', { exitCode: 5, reason: 'Error' }),
  completed: terminated('Succeeded', { exitCode: 0, reason: 'Completed' }),
  outOfMemory: terminated('Failed', { exitCode: 137, reason: 'OOMKilled' }),
  evicted: terminated(
    'Failed',
    { exitCode: 137, reason: 'Error' },
    {
      reason: 'Evicted',
      message: 'Pod ephemeral local storage usage exceeds the total limit of containers 20Mi. ',
    },
  ),
} as const satisfies Readonly<Record<string, Fields>>;

export type Recording = keyof typeof recordings;

/** As a node shows what a container may use that runs. */
export function withResources(status: Fields, given: unknown): Fields {
  const containers = Array.isArray(status['containerStatuses'])
    ? (status['containerStatuses'] as Fields[])
    : [];
  return {
    ...status,
    containerStatuses: containers.map((one) => Object.assign({}, one, { resources: given })),
  };
}

export function resizeInProgress(status: Fields): Fields {
  return withCondition(status, { type: 'PodResizeInProgress', status: 'True' });
}

export function resizeDeferred(status: Fields): Fields {
  const message =
    "Node didn't have enough resource: memory, requested: 8589934592, used: 367001600, capacity: 4120735744";
  if (JSON.stringify(status).includes(message)) return status;
  return withCondition(status, { type: 'PodResizePending', status: 'True', reason: 'Deferred', message });
}

function withCondition(status: Fields, condition: Fields): Fields {
  const others = Array.isArray(status['conditions']) ? (status['conditions'] as Fields[]) : [];
  return { ...status, conditions: [...others, condition] };
}

/** Of the condition DisruptionTarget; not recorded, but as the API documents it. */
export function disrupted(status: Fields, reason: string, message: string): Fields {
  return withCondition(status, { type: 'DisruptionTarget', status: 'True', reason, message });
}
