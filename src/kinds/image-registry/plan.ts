/**
 * The planner of an ImageRegistry.
 *
 *     absent ── create ──> present ── rotate ──> present ── delete ──> gone
 *
 * One entry is for one exact repository, and that is fixed. Credentials are never returned (§2 "Image registry"), so
 * they are compared through the keyed digest of what was last applied. A changed Secret is a rotation. So is an
 * adoption, since nobody knows the previous credentials.
 *
 * A rotation affects future launches only (§4 rule 5). It waits for a rollout under way among the linked services, so
 * that one rollout has one set of credentials. It does not wait longer than `rolloutPatienceMs`, because a rollout
 * that does not end may be waiting for just these credentials.
 *
 * Deletion requires every linked service to be sleeping with no allocation (§3 rule 6). No request makes a service
 * sleep, so the deletion waits for that; `paused` does not count as `sleeping`.
 */
import { createRegistry, deleteRegistry, rotateRegistry } from '../../actions/index.ts';
import type { wire } from '../../api/index.ts';
import { limits } from '../../api/wire.ts';
import {
  compareFields,
  fieldDigests,
  hasVanished,
  hidden,
  holdFor,
  holdForMassDrift,
  inSync,
  isOnlyReported,
  planLifecycle,
  proceed,
  recheckMs,
  providerText,
  waitFor,
  type Difference,
  type Field,
  type Plan,
  type RegistryCredentials,
  type Step,
} from '../../engine/plan/index.ts';
import { normalRepository, shownRepository, shownRepositoryOf } from '../../resources/index.ts';
import type { Baseline, ObjectRecord } from '../../state/index.ts';
import type { LinkedService, RegistryInputs } from './inputs.ts';

const rolloutUnderWay = 'RolloutUnderWay';
const rolloutPatienceMs = 600_000;

export function planRegistry(inputs: RegistryInputs): Plan {
  return planLifecycle(inputs, {
    noun: 'registry',
    create: () => planAbsent(inputs),
    change: (registry) => planPresent(inputs, registry),
    remove: (registry) => planRemoval(inputs, registry),
  });
}

function planAbsent(inputs: RegistryInputs): Plan {
  const { object, record, gates, credentials, registriesInAccount } = inputs;
  const vanished = hasVanished(inputs);
  const lost = vanished
    ? [{ path: 'registry', desired: record.externalId, observed: null, drift: true }]
    : [];
  if (vanished && object.spec.driftPolicy === 'Report') return inSync(lost);
  if (credentials.kind !== 'given') return holdForCredentials(credentials, lost);
  const repository = repositoryIn(inputs);
  const differences: Difference[] = [
    ...lost,
    { path: 'repository', desired: repository, observed: null, drift: vanished },
    { path: 'credentials', desired: '(set)', observed: null, drift: vanished, ...secretOf(inputs) },
  ];
  const action = createRegistry({ repository, credentials: credentials.values });
  const step: Step = { action, reason: vanished ? 'Vanished' : 'Create', disruptive: false, differences };
  if (registriesInAccount >= limits.registriesPerAccount) {
    return holdFor(
      'LimitReached',
      `the account already has access to ${registriesInAccount} repositories, and the API allows ${limits.registriesPerAccount} (§8); delete one that is not needed`,
      { steps: [step], differences },
    );
  }
  return proceed(object, [step], differences, gates.creation);
}

function planPresent(inputs: RegistryInputs, registry: wire.Registry): Plan {
  const { object, credentials, record, owner } = inputs;
  const repository = repositoryIn(inputs);
  const shown = shownRepository(registry.repository);
  const [moved] = compareFields([repositoryField(repository, shown)], record, owner.digestKey);
  if (moved) {
    return holdFor(
      'ImmutableFieldChanged',
      `the repository of a registry can't be changed (${shown ?? 'the API does not show what it is'}); undo the change, or write another document for ${repository}`,
      {
        path: ['spec', 'repository'],
        differences: [{ ...moved, drift: false }],
      },
    );
  }
  const differences = credentialDifferences(inputs, registry);
  const wanted = differences.filter(
    (difference) =>
      (!difference.drift || object.spec.driftPolicy === 'Correct') &&
      !isOnlyReported(difference, inputs.record),
  );
  const correctable = wanted.filter((difference) => !difference.drift || !inputs.driftBrake(difference));
  if (credentials.kind === 'problem') return holdForCredentials(credentials, differences);
  if (credentials.kind === 'unmanaged' || correctable.length === 0) {
    return holdForMassDrift(wanted, inputs.driftBrake, { steps: [], differences }) ?? inSync(differences);
  }
  if (registry.revision === undefined) return waitForRevision(differences);
  const action = rotateRegistry({
    id: registry.id,
    revision: registry.revision,
    repository,
    credentials: credentials.values,
  });
  const step: Step = {
    action,
    reason: reasonFor(inputs.record, correctable),
    disruptive: false,
    differences: correctable,
  };
  const plan = proceed(object, [step], differences, undefined);
  return plan.kind === 'act' ? (waitForRollout(inputs, step, differences) ?? plan) : plan;
}

function reasonFor({ applied }: ObjectRecord, differences: readonly Difference[]): Step['reason'] {
  if (applied['credentials'] === undefined) return 'Adopted';
  return differences.every(({ drift }) => drift) ? 'Drift' : 'CredentialsChanged';
}

function secretOf({ object }: RegistryInputs): { from?: string } {
  const { credentialsSecretRef: secret } = object.spec;
  return secret === undefined ? {} : { from: `Secret ${secret.name}` };
}

function credentialDifferences(inputs: RegistryInputs, registry: wire.Registry): Difference[] {
  const { credentials, record, owner } = inputs;
  if (credentials.kind !== 'given') return [];
  const shown = { path: 'credentials', desired: '(as declared)', observed: hidden, hidden: true } as const;
  const given = { ...shown, ...secretOf(inputs) };
  const isAdopted = record.applied['credentials'] === undefined;
  const isChanged = compareFields(registryFields(inputs), record, owner.digestKey).length > 0;
  if (isAdopted || isChanged) return [{ ...given, drift: false }];
  const isUncertain =
    record.doubted.includes('credentials') || wasRotatedElsewhere(record.baseline, registry);
  return isUncertain ? [{ ...given, drift: true, revisionMoved: true }] : [];
}

/** Only rotations are known to move the revision of a registry, and nobody can see what one brought. */
function wasRotatedElsewhere(baseline: Baseline | undefined, { id, revision }: wire.Registry): boolean {
  return baseline?.id === id && revision !== undefined && revision > baseline.revision;
}

function waitForRollout(
  { linked, record, nowMs }: RegistryInputs,
  step: Step,
  differences: readonly Difference[],
): Plan | undefined {
  const busy = linked.filter(({ state }) => state === 'provisioning');
  if (busy.length === 0) return undefined;
  const { pending } = record.report ?? {};
  const sinceMs = pending?.reason === rolloutUnderWay ? pending.since : nowMs;
  if (nowMs - sinceMs >= rolloutPatienceMs) return undefined;
  return waitFor(
    rolloutUnderWay,
    `the new credentials wait while ${namesOf(busy)} ${busy.length > 1 ? 'are' : 'is'} being launched, at most ${rolloutPatienceMs / 60_000} minutes`,
    { steps: [step], differences },
  );
}

function planRemoval({ object, gates, linked }: RegistryInputs, registry: wire.Registry): Plan {
  const differences = [{ path: 'registry', desired: null, observed: registry.id, drift: false }];
  if (registry.revision === undefined) return waitForRevision(differences);
  const action = deleteRegistry({ id: registry.id, revision: registry.revision });
  const step: Step = { action, reason: 'Deleted', disruptive: false, differences };
  const awake = linked.filter(({ state }) => state !== 'sleeping');
  if (awake.length > 0) {
    return waitFor(
      'RegistryInUse',
      `services with images of the repository are not asleep: ${namesOf(awake)}; it is deleted when all of them are (§3 rule 6), or gone`,
      { recheckAfterMs: recheckMs.gate, steps: [step], differences },
    );
  }
  return proceed(object, [step], differences, gates.deletion);
}

function namesOf(services: readonly LinkedService[]): string {
  const shown = services.slice(0, 5).map(({ id, name, state }) => `${name ?? id} (${state ?? 'no state'})`);
  const more = services.length - shown.length;
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function holdForCredentials(
  credentials: Exclude<RegistryInputs['credentials'], { kind: 'given' }>,
  differences: readonly Difference[],
): Plan {
  return credentials.kind === 'problem'
    ? holdFor(credentials.reason, credentials.message, { path: credentials.path, differences })
    : holdFor(
        'InvalidReference',
        'access to a repository can only be made with credentials; give credentialsSecretRef',
        {
          path: ['spec'],
          differences,
        },
      );
}

function waitForRevision(differences: readonly Difference[]): Plan {
  const message = 'the API shows no revision of the registry, and a change needs one (§4 rule 3)';
  return waitFor('AwaitingObservation', message, { differences });
}

function repositoryIn({ object }: RegistryInputs): string {
  return normalRepository(object.spec.repository) ?? object.spec.repository;
}

function registryFields({ credentials }: RegistryInputs): Field[] {
  const desired = credentials.kind === 'given' ? plainCredentials(credentials.values) : undefined;
  return [{ name: 'credentials', path: 'credentials', desired, observed: undefined }];
}

function plainCredentials(credentials: RegistryCredentials): object {
  const { username, password } = credentials.reveal();
  return { username, password };
}

/** Keyed digests only: nothing of a secret is remembered. */
export function registryDigests(inputs: RegistryInputs): Record<string, string> {
  const repository = repositoryField(repositoryIn(inputs), undefined);
  const credentials = inputs.credentials.kind === 'given' ? registryFields(inputs) : [];
  return fieldDigests([repository, ...credentials], inputs.owner.digestKey);
}

function repositoryField(desired: string, observed: string | undefined): Field {
  return { name: 'repository', path: 'repository', desired, observed };
}

// ---- what uses it ------------------------------------------------------------------------------------

/**
 * The services with images of the repository: those that the API lists as linked or, when it lists none, those of the account
 * whose image is of it. Their states are those of the account read. What cannot be seen of the credentials that
 * a service was launched with is `Unknown`.
 */
export function linkedServices(
  registry: wire.Registry | undefined,
  repository: string,
  services: ReadonlyMap<string, wire.Service>,
): LinkedService[] {
  if (!registry) return [];
  if (registry.linkedServices) {
    return registry.linkedServices.map((entry) => {
      const { id, name, state, usesCurrentCredentials } =
        typeof entry === 'string' ? { id: entry } : { ...entry };
      const service = services.get(id);
      return {
        id: providerText(id, [], longestWord),
        name: shownText(name ?? service?.name),
        state: shownText(state ?? service?.state),
        credentials:
          typeof usesCurrentCredentials === 'boolean'
            ? usesCurrentCredentials
              ? 'Current'
              : 'Outdated'
            : 'Unknown',
      };
    });
  }
  return [...services.values()]
    .filter(({ image }) => image && shownRepositoryOf(image) === repository)
    .map(({ id, name, state }) => ({
      id,
      name: shownText(name),
      state: shownText(state),
      credentials: 'Unknown',
    }));
}

const longestWord = 100;

function shownText(text: string | undefined): string | undefined {
  return text === undefined ? undefined : providerText(text, [], longestWord);
}
