/** All mutations of the contract; action.ts lists who asks an entry for what. */
import type { Action, ActionEntry, ActionName, Effect } from './action.ts';
import { registryActions } from './registries.ts';
import { serviceActions } from './services.ts';
import { templateActions } from './templates.ts';
import { volumeActions } from './volumes.ts';

export type {
  Action,
  ActionEntry,
  ActionName,
  ActionOf,
  Effect,
  Receipt,
  RegistryCredentials,
  Verb,
} from './action.ts';
export { createRegistry, deleteRegistry, rotateRegistry } from './registries.ts';
export {
  createService,
  deleteService,
  patchService,
  resizeService,
  restartService,
  setSleepPolicy,
  startService,
  stopService,
} from './services.ts';
export { createTemplate, deleteTemplate, replaceTemplate } from './templates.ts';
export { createVolume, deleteVolume, updateVolume } from './volumes.ts';

export const actions: { readonly [Name in ActionName]: ActionEntry<Name> } = {
  ...serviceActions,
  ...volumeActions,
  ...templateActions,
  ...registryActions,
};

/** Of an action: its entry takes it. */
export function entryOfAction({ do: name }: Action): ActionEntry {
  return actions[name];
}

/** Of an action that was written down, maybe by another version: undefined when this one does not know it. */
export function actionOf(name: string): ActionEntry | undefined {
  return isActionName(name) ? actions[name] : undefined;
}

export function effectOf(name: string): Effect | undefined {
  return actionOf(name)?.effect;
}

/** The action that was written down makes something. */
export function isCreation(name: string): boolean {
  return effectOf(name) === 'create';
}

function isActionName(name: string): name is ActionName {
  return Object.hasOwn(actions, name);
}
