/** ContainerService: a service at the provider (§3). */
import { createService } from '../../actions/index.ts';
import type { wire } from '../../api/index.ts';
import { localTime, rememberedDigests, type Step } from '../../engine/plan/index.ts';
import { defineKind, type RemoteThings, type Subject } from '../../engine/index.ts';
import {
  isLoopback,
  parseObjectKey,
  remoteName,
  type ContainerServiceSpec,
  type ServiceState,
} from '../../resources/index.ts';
import { declaredTasks } from '../protected-task/tasks.ts';
import { replacementPricing, serviceDemand, servicePricing } from '../pricing.ts';
import { ownForm } from './environment.ts';
import { rememberedVariables } from './variables.ts';
import { exchangeOf } from './exchange.ts';
import { heldServices } from './held.ts';
import { serviceDigests, shownService } from './fields.ts';
import { laterSteps } from './later.ts';
import { serviceLook, type ServiceLook } from './look.ts';
import { serviceMarks } from './marks.ts';
import { planService } from './plan.ts';
import { activitiesWhileDraining } from './draining.ts';
import { probation } from './remediation.ts';
import { shedService } from './shedding.ts';
import { storageOfCreation } from './storage.ts';
import { rememberedOf } from './remembered.ts';
import { keptRevisionDrift } from './revision-drift.ts';
import {
  observedReferences,
  observedService,
  serviceAllocation,
  serviceHealth,
  templateOutdated,
} from './status.ts';

type Service = wire.Service;

const remote: RemoteThings<ContainerServiceSpec, Service, ServiceLook> = {
  listing: ({ services, unidentified }) => ({
    kind: 'read',
    items: services,
    unidentified: unidentified?.services ?? [],
  }),
  read: (api, id) => api.service(id),
  activities: (api, id, onSend) => api.activities(id, undefined, undefined, onSend),
  events: (api, id) => api.events(id),
  marks: serviceMarks,
  creation: createService,
  held: heldServices,
  /** Not by its marks, where they can be read, and else not by its name. */
  couldBe(entry, subject) {
    if (showsVariables(entry)) {
      const own = serviceMarks.own({ owner: subject.fleet.owner, record: subject.record });
      return serviceMarks.of({ ...entry, id: '' }).includes(own);
    }
    const { unreadable = [] } = entry;
    return (
      isNamedLike(entry, subject) ||
      unreadable.some(({ field, decides }) => decides && field.startsWith('env'))
    );
  },
  hidesMarks: (service) => !showsVariables(service),
  isNamedLike,
  /** A service that is found again is taken as it is: its restart token has been seen to. */
  found: ({ object }) => ({ restartToken: object.spec.restartToken }),
  replaces: ({ replacement }) => replacement === 'Recreate',
  needsCatalog: true,
};

/** Its name does not show that it is another one. */
function isNamedLike(
  { name }: Service | wire.Unidentified<Service>,
  { object }: Subject<ContainerServiceSpec>,
): boolean {
  const own = remoteName('ContainerService', object.name, object.spec);
  return name === undefined || name.toLowerCase() === own.toLowerCase();
}

/**
 * Everything that we create has a variable: its mark. An API may show none of a service before it runs (§2 gaps). One that runs, or did before
 * it fell asleep, and shows none, has none.
 */
function showsVariables({ environmentNames, state }: Service | wire.Unidentified<Service>): boolean {
  if (!environmentNames) return false;
  return environmentNames.length > 0 || state === 'running' || state === 'sleeping';
}

function present({ observation }: ServiceLook): Service | undefined {
  return observation.kind === 'present' ? observation.value : undefined;
}

/** The volume that a deletion ends, or that the next service gets. */
function volumeOf(look: ServiceLook, { reason }: Step): wire.Volume | undefined {
  const { ownsStorage, attachedVolume, replacementVolume } = look;
  const isOwn = ownsStorage && attachedVolume?.mode !== 'independent';
  const isNext = reason === 'Replace' && replacementVolume.kind !== 'none';
  return isOwn || isNext ? attachedVolume : undefined;
}

export const containerService = defineKind<
  ContainerServiceSpec,
  Service,
  ServiceLook,
  undefined,
  ServiceState
>({
  name: 'ContainerService',
  remote,
  look: serviceLook,
  plan: planService,
  pricing: (look, step) => servicePricing(step, look.object.spec, present(look), volumeOf(look, step)),
  roomFor: (look, step) => replacementPricing(step, look.object.spec),
  demand: (look, step) => serviceDemand(step, look.object.spec, present(look)),
  later: laterSteps,
  target: (look) => ({
    digests: serviceDigests(look),
    restartToken: look.object.spec.restartToken,
    record: {
      kind: {
        ...look.record.kind,
        madeVolumeId: look.madeVolumeId,
        // Of one that is not there, the request is a creation.
        ...(present(look) ? {} : storageOfCreation(look.object.spec, look.owner.digestKey)),
        template: look.taken,
      },
    },
    shownIn: (service) => shownService(look, service),
  }),
  remembers: rememberedOf,
  settled(look, { differences }) {
    const { record, object } = look;
    return {
      applied: rememberedDigests(record, serviceDigests(look)),
      shownAs: { ...record.shownAs, ...ownForm(look, present(look)) },
      ...keptRevisionDrift(record, differences),
      restartToken: object.spec.restartToken ?? record.restartToken,
      kind: {
        ...record.kind,
        // With an order in force, somebody has started it. It is not stopped once more for the same order.
        pausedFor: look.shed ? record.kind.pausedFor : undefined,
        madeVolumeId: look.madeVolumeId,
        template: look.taken,
        variables: rememberedVariables(look),
        remediation: probation(record.kind, look.nowMs).remediation,
      },
      repeated: undefined,
      unconfirmed: [],
      refusal: undefined,
    };
  },
  mayRemediate(look) {
    const record = { ...look.record, kind: { ...look.record.kind, remediation: undefined } };
    return planService({ ...look, record, remediations: { services: 1, underWay: 0 } }).kind === 'act';
  },
  /** The endpoint of a running service is probed until the service runs no more. */
  probe(look) {
    const { readiness } = look.object.spec;
    const service = present(look);
    if (!readiness || service?.state !== 'running' || !service.endpoint || look.apiUrl === undefined)
      return undefined;
    return {
      url: service.endpoint.replace(/\/+$/, '') + readiness.path,
      periodMs: readiness.periodSeconds * 1000,
      timeoutMs: readiness.timeoutSeconds * 1000,
      loopback: isLoopback(look.apiUrl),
      namespace: parseObjectKey(look.record.key).namespace,
    };
  },
  status: (look, { probed, secrets }) => ({
    health: serviceHealth(look.object.spec, look.observation, probed, secrets),
    observed: { ...observedService(look.observation), ...observedReferences(look.template, look.registry) },
    revision: present(look)?.revision,
    more: [...serviceAllocation(look.observation), ...templateOutdated(look.template)],
    ...activitiesWhileDraining(look),
  }),
  shed: (subject) =>
    shedService(subject, declaredTasks(subject.fleet, subject.record.key, localTime(subject.nowMs))),
  exchanges: ({ fleet, record, seen: { snapshot } }) =>
    snapshot ? exchangeOf(fleet, record, snapshot).map(({ key }) => key) : [],
  secrets: (view) => serviceLook(view).secretValues(),
});
