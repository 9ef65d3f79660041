/** What a plan means, in a few plain words for the demo's table. */
import type { ActionName, Plan } from '../plan/index.ts';

const actions: Readonly<Record<ActionName, string>> = {
  'create-service': 'creating',
  'create-volume': 'creating',
  'patch-service': 'patching',
  'update-volume': 'growing',
  'resize-service': 'resizing',
  'set-sleep-policy': 'setting the sleep policy',
  'start-service': 'starting',
  'stop-service': 'stopping',
  'restart-service': 'restarting',
  'delete-service': 'deleting',
  'delete-volume': 'deleting',
  'create-template': 'creating',
  'replace-template': 'replacing',
  'delete-template': 'deleting',
  'create-registry': 'creating',
  'rotate-registry': 'rotating',
  'delete-registry': 'deleting',
};

const waits: Readonly<Record<string, string>> = {
  Provisioning: 'provisioning',
  VolumeNotReady: 'waits for its volume',
  PausingService: 'waits for a paused service',
  PausedForVolumeExpansion: 'paused, its volume grows',
  RegistryNotReady: 'waits for its registry',
  RegistryInUse: 'waits until nothing uses it',
  Expanding: 'growing',
  Deleting: 'deleting',
  Leaving: 'left the folder',
  ConfirmingAbsence: 'making sure it is gone',
  OutcomeUnknown: 'looking for the outcome',
};

/** Undefined when the plan only waits for the next read, which says nothing new. */
export function wordsOf(plan: Plan, deleting: boolean): string | undefined {
  const drift = [...new Set(plan.differences.filter((item) => item.drift).map(({ path }) => rootOf(path)))];
  switch (plan.kind) {
    case 'in-sync':
      return drift.length > 0 ? `drifted: ${drift.join(', ')}` : '';
    case 'act': {
      const verb = actions[plan.step.action.do];
      return plan.step.reason === 'Drift' ? `healing (${verb}): ${drift.join(', ')}` : verb;
    }
    case 'wait':
      if (plan.reason === 'AwaitingObservation' || plan.reason === 'AwaitingEffect') return undefined;
      if (drift.length > 0) return `drifted: ${drift.join(', ')}`;
      return deleting ? 'deleting' : (waits[plan.reason] ?? `waits: ${plan.reason}`);
    case 'hold':
      return `held: ${plan.reason}`;
  }
}

/** `env.NAME` as `env`: the names are told when the drift is. */
function rootOf(path: string): string {
  return path.split('.')[0] ?? path;
}
