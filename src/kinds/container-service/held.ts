/** Services of an account, whoever made them: what `inventory` shows of them, and the documents that `import` writes. */
import type { wire } from '../../api/index.ts';
import { wholeResources } from '../../api/wire.ts';
import type { Gap, HeldThings, ImportContext, Place, SpecDraft } from '../../engine/index.ts';
import { parseBeacon, passingStates, serviceBurn, settledStates } from '../../engine/plan/index.ts';
import { accountRef, adopted, geographyGap, listed, present } from '../drafts.ts';
import { isServiceOwned } from '../storage-volume/held.ts';

export const heldServices: HeldThings<wire.Service> = {
  name: ({ name }) => name,
  state: ({ state }) => state,
  burn: serviceBurn,
  isGoing: ({ state }) => state === 'deleting',
  draft,
};

function draft(service: wire.Service, place: Place, context: ImportContext): SpecDraft {
  return {
    spec: {
      ...accountRef(place),
      serviceName: service.name,
      region: present(service.region),
      image: present(service.image),
      command: typeof service.command === 'string' ? undefined : listed(service.command),
      resources: wholeResources(service.resources),
      httpPort: present(service.httpPort),
      storage: storageOf(service, context),
      sleepAfterMinutes: sleepOf(service),
      desiredState: desiredOf(service),
      ...adopted(service.id),
    },
    needed: ['region', 'image', 'resources'],
    gaps: [
      ...geographyGap(service.geography),
      ...commandGap(service, context),
      environmentGap(service),
      ...desiredGap(service, context),
      ...stateGap(service, context),
    ],
  };
}

/** By reference where the volume is imported, too; by size where it belongs to the service; else by id. */
function storageOf(
  { id, volumeId }: wire.Service,
  { contents: { volumes }, objectOf }: ImportContext,
): object | undefined {
  // It shows that there is none.
  if (volumeId === null) return undefined;
  const volume =
    volumes.find((candidate) => candidate.id === volumeId) ??
    volumes.find((candidate) => candidate.serviceId === id);
  const used = volume?.id ?? volumeId;
  if (used === undefined) return undefined;
  const imported = objectOf(used);
  if (imported !== undefined) return { volumeRef: { name: imported } };
  const sizeGb = volume?.requestedSizeGb ?? volume?.sizeGb;
  const owned = volume?.mode && isServiceOwned(volume);
  return owned && sizeGb ? { volumeGb: sizeGb } : { volumeId: used };
}

/** Without a policy it never sleeps; one that sleeps all the same is not to be woken by its own import. */
function sleepOf({ sleepAfterMinutes, state }: wire.Service): number | undefined {
  if (sleepAfterMinutes === null) return state === 'sleeping' ? undefined : 0;
  return sleepAfterMinutes;
}

function environmentGap({ environmentNames }: wire.Service): Gap {
  const names = (environmentNames ?? []).filter((name) => parseBeacon(name) === undefined);
  const shown = environmentNames ? `it has ${names.length}` : 'nor are their names';
  return {
    field: 'env',
    why: `values of variables are never shown (${shown}). Without it the service keeps its own; if given, it is the whole environment`,
    example: names.length === 0 ? [] : ['env:', ...names.map(environmentLine)],
  };
}

/** One text has to be split as the provider's shell would. */
function commandGap({ command }: wire.Service, { quote }: ImportContext): Gap[] {
  if (typeof command !== 'string') return [];
  const why = `it is shown as one text (${quote(command)}), and has to be written as a list`;
  return [{ field: 'command', why, example: ['command: [FILL-IN]'] }];
}

function environmentLine(name: string): string {
  return `  - {name: ${JSON.stringify(name)}, value: FILL-IN}`;
}

/** What an operation that is under way leads to. The reference shows `operation`; the contract names no such field (§2). */
function desiredOf({ state, operation }: wire.Service): 'Running' | 'Stopped' {
  if (operation === 'stop') return 'Stopped';
  return state === 'paused' && operation !== 'provision' ? 'Stopped' : 'Running';
}

/** What somebody has just stopped, the next `apply` would start again, and the other way round. */
function desiredGap(service: wire.Service, { quote }: ImportContext): Gap[] {
  const { state, operation } = service;
  const isKnown = state === undefined || settledStates.has(state) || passingStates.has(state);
  const isSure = operation === undefined || operation === null || state === 'provisioning';
  if (isKnown && isSure) return [];
  const shown = isSure ? '' : `, and an operation is under way (${quote(operation)})`;
  const why = `the state is ${quote(state ?? 'not shown')}${shown}. \`${desiredOf(service)}\` is what that seems to lead to; compare it before you apply`;
  return [{ field: 'desiredState', why }];
}

function stateGap({ state, error }: wire.Service, { quote }: ImportContext): Gap[] {
  if (state !== 'error') return [];
  const why = `the service is in error (${quote(error ?? 'no reason given')}), which a plan shows until it is mended`;
  return [{ field: 'onError', why, example: ['onError: {restarts: 3}'] }];
}
