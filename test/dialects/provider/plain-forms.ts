/** How records are shown when nothing odd is played. Dialects transform this (`../render.ts`). */
import type { Conduct, Json } from './conduct.ts';
import type { Activity, Registry, Service, Template, Volume } from './records.ts';

export function serviceOf(service: Service, conduct: Conduct, nowMs: number): Json {
  const { stopShows, adds, brokenReason, namesOnceRunning } = conduct;
  const { id, name, state, revision, resources, region, geography, image, command, httpPort } = service;
  const { environment, volumeId, sleepAfterMinutes, createdAtMs } = service;
  const isUp = state === 'running';
  const added = nowMs >= adds.fromMs ? adds.names : [];
  return {
    id,
    name,
    state: state === 'stopping' && stopShows === 'running' ? 'running' : state,
    revision,
    resources,
    region,
    geography,
    image,
    command,
    httpPort,
    endpoint: isUp && httpPort !== null ? `https://${name}.apps.provider.example` : null,
    environmentNames:
      namesOnceRunning && (state === 'queued' || state === 'provisioning')
        ? []
        : [...Object.keys(environment), ...added.filter((each) => !(each in environment))],
    volumeId,
    sleepAfterMinutes,
    hourlyMicros: isUp ? 120_000 : 0,
    error: state === 'error' ? brokenReason : null,
    createdAt: createdAtMs,
  };
}

export function volumeOf(volume: Volume): Json {
  const { next: _, createdAtMs, ...shown } = volume;
  return { ...shown, hourlyMicros: volume.sizeGb * 100, error: null, createdAt: createdAtMs };
}

export function templateOf({ id, revision, builtIn, spec, createdAtMs }: Template): Json {
  return {
    id,
    revision,
    builtIn,
    description: '',
    command: [],
    resources: { gpuCount: 0, cpu: 1, memoryGb: 1 },
    httpPort: null,
    containerDiskGb: 20,
    workspaceGb: null,
    sleepAfterMinutes: null,
    requiredEnvironment: [],
    ...spec,
    createdAt: createdAtMs,
  };
}

export function registryOf(
  { id, revision, repository, createdAtMs, rotatedAtMs }: Registry,
  linked: readonly Service[],
): Json {
  const linkedServices = linked.map((service) => ({
    id: service.id,
    name: service.name,
    state: service.state,
  }));
  return { id, revision, repository, linkedServices, createdAt: createdAtMs, rotatedAt: rotatedAtMs };
}

export function activityOf([id, { name, registeredAtMs, beatenAtMs, releasedAtMs }]: [
  string,
  Activity,
]): Json {
  const released = releasedAtMs === undefined ? {} : { releasedAt: releasedAtMs };
  return { id, name, registeredAt: registeredAtMs, lastHeartbeatAt: beatenAtMs, ...released };
}

/** §2 "Account object": deleted ones are excluded. */
export function accountOf({ services, volumes }: Shown, conduct: Conduct, nowMs: number): Json {
  return {
    balanceMicros: 900_000_000,
    currency: 'USD',
    services: [...services.values()]
      .filter(({ state }) => state !== 'deleted')
      .map((service) => serviceOf(service, conduct, nowMs)),
    volumes: [...volumes.values()].filter(({ status }) => status !== 'deleted').map(volumeOf),
    ledger: [{ id: 'l-1', amountMicros: -1200, description: 'compute', createdAt: 1_767_225_600_000 }],
  };
}

interface Shown {
  readonly services: ReadonlyMap<string, Service>;
  readonly volumes: ReadonlyMap<string, Volume>;
}

/** §2 "Catalog object". */
export function catalog(): Json {
  return {
    regions: [
      { name: 'standard', geographies: ['europe', 'america'] },
      { name: 'economy', geographies: ['europe'] },
    ],
    templates: [
      { id: '8f14e45f-ceea-467a-9575-6f1d1f0a7a01', name: 'Notebook', image: 'ghcr.io/provider/notebook:3' },
    ],
    gpuCatalog: [{ model: 'l4', name: 'NVIDIA L4', memoryGb: [24], fullMemoryGb: 24 }],
    currency: 'USD',
    browserEnabled: false,
    payment: { provider: 'none', status: 'disabled' },
  };
}
