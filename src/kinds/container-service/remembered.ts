/** What the record of a service remembers of its mutations: why it was paused, and how often it was restarted. */
import { createService, startService, stopService } from '../../actions/index.ts';
import { remediationReason } from '../../engine/plan/index.ts';
import type { RecordedMutation } from '../../engine/index.ts';
import type { ServiceState } from '../../resources/index.ts';
import { nextRemediation } from './remediation.ts';

/** Actions after which no earlier pause lasts. */
const endsPause: ReadonlySet<string> = new Set([createService.name, startService.name]);

export function rememberedOf(state: ServiceState, mutation: RecordedMutation): ServiceState {
  const { action } = mutation;
  switch (mutation.is) {
    case 'intended':
      if (mutation.reason === remediationReason) {
        return { ...state, remediation: nextRemediation(state, mutation.generation, mutation.at) };
      }
      return action === stopService.name ? { ...state, pausedFor: pausedFor(mutation.reason) } : state;
    case 'withdrawn':
      return action === stopService.name ? { ...state, pausedFor: undefined } : state;
    case 'applied':
      return endsPause.has(action) ? { ...state, pausedFor: undefined } : state;
  }
}

function pausedFor(reason: string): ServiceState['pausedFor'] {
  if (reason === 'Shed') return 'Budget';
  return reason === 'VolumeExpansion' ? 'VolumeExpansion' : undefined;
}
