/** One action, one request. */
import type { ControlApi, Outcome, wire } from '../api/index.ts';
import type { DigestKey } from '../base/index.ts';
import type { Action } from '../plan/index.ts';

/** What a mutation tells when it was applied, as far as the engine cares. */
export interface Receipt {
  readonly id: string;
  /** Of the object, after what was asked for. */
  readonly revision?: number | undefined;
  /** Of a deletion that the API goes on with by itself. */
  readonly operationId?: string | undefined;
  /** Of a service. */
  readonly environmentNames?: readonly string[] | null | undefined;
}

/** Sends the action under the given key. Nothing else of fleetkeeper mutates. */
export function send(api: ControlApi, action: Action, idempotencyKey: string): Promise<Outcome<Receipt>> {
  switch (action.do) {
    case 'create-service':
      return api.createService(serviceBody(action), idempotencyKey);
    case 'patch-service':
      return api.patchService(
        action.id,
        { revision: action.revision, patch: patchBody(action) },
        idempotencyKey,
      );
    case 'resize-service':
      return api.actOnService(action.id, { action: 'resize', resources: action.resources }, idempotencyKey);
    case 'start-service':
      return api.actOnService(action.id, { action: 'start' }, idempotencyKey);
    case 'stop-service':
      return api.actOnService(action.id, { action: 'stop' }, idempotencyKey);
    case 'restart-service':
      return api.actOnService(action.id, { action: 'restart' }, idempotencyKey);
    case 'delete-service':
      return api.actOnService(action.id, { action: 'delete' }, idempotencyKey);
    case 'set-sleep-policy':
      return api.setSleepPolicy(action.id, action.sleepAfterMinutes, idempotencyKey);
    case 'create-volume':
      return api.createVolume(action.body, idempotencyKey);
    case 'update-volume':
      return api.updateVolume(action.id, updateBody(action), idempotencyKey);
    case 'delete-volume':
      return deleteVolume(api, action.id, idempotencyKey);
    case 'create-template':
      return api.createTemplate(action.body, idempotencyKey);
    case 'replace-template':
      return api.replaceTemplate(action.id, { revision: action.revision, spec: action.spec }, idempotencyKey);
    case 'delete-template':
      return api.deleteTemplate(action.id, { revision: action.revision }, idempotencyKey);
    case 'create-registry':
      return api.createRegistry(registryBody(action), idempotencyKey);
    case 'rotate-registry':
      return api.rotateRegistry(
        action.id,
        { revision: action.revision, spec: registryBody(action) },
        idempotencyKey,
      );
    case 'delete-registry':
      return api.deleteRegistry(action.id, { revision: action.revision }, idempotencyKey);
  }
}

async function deleteVolume(api: ControlApi, id: string, idempotencyKey: string): Promise<Outcome<Receipt>> {
  const outcome = await api.deleteVolume(id, idempotencyKey);
  if (outcome.kind !== 'applied') return outcome;
  const { volumeId, operationId } = outcome.value;
  return { ...outcome, value: { id: volumeId, operationId } };
}

type ActionOf<Name extends Action['do']> = Extract<Action, { do: Name }>;

function serviceBody({ body, environment }: ActionOf<'create-service'>): wire.ServiceCreate {
  return { ...body, environment: inOrder(environment.reveal()) };
}

function patchBody({ patch, environment }: ActionOf<'patch-service'>): wire.ServicePatch {
  return environment ? { ...patch, environment: inOrder(environment.reveal()) } : patch;
}

/** By name: documents that list the same variables in another order make the same bytes. */
function inOrder(environment: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(environment).sort(([left], [right]) => (left < right ? -1 : 1)));
}

function updateBody({ revision, name, sizeGb }: ActionOf<'update-volume'>): wire.VolumeUpdate {
  return {
    revision,
    ...(name === undefined ? {} : { name }),
    ...(sizeGb === undefined ? {} : { sizeGb }),
  };
}

function registryBody({
  repository,
  credentials,
}: ActionOf<'create-registry' | 'rotate-registry'>): wire.RegistryCreate {
  return { repository, ...credentials.reveal() };
}

/** Keyed digest of everything that is sent: two requests with the same key must agree in it. */
export function bodyDigest(action: Action, digestKey: DigestKey): string {
  return digestKey.digest(plain(action));
}

/** The same without the revision: what is wanted, however often somebody else moves the revision. */
export function fingerprint(action: Action, digestKey: DigestKey): string {
  return digestKey.digest({ ...plain(action), revision: 0 });
}

/** And without the id: the same of whatever stands for the object. */
export function correctionMark(action: Action, digestKey: DigestKey): string {
  return digestKey.digest({ ...plain(action), revision: 0, id: '' });
}

/** All that is sent, in the clear. */
export function plain(action: Action): object {
  if ('credentials' in action) return { ...action, credentials: action.credentials.reveal() };
  return 'environment' in action ? { ...action, environment: action.environment?.reveal() } : action;
}
