/**
 * What the operator of a control plane decides: tiers, places, capacity, prices, and how long things take.
 * Every number has its unit in its name; prices are integers in micro-USD per hour.
 */
import type { TemplateFields } from './records.ts';

interface Prices {
  readonly gpuHourMicros: number;
  readonly cpuHourMicros: number;
  readonly memoryGbHourMicros: number;
  readonly storageGbHourMicros: number;
}

export interface GeographyConfig {
  readonly name: string;
  /** GPUs that exist there, by model of the GPU catalog. */
  readonly gpus: Readonly<Record<string, number>>;
}

/** A tier: the `region` of a service or a volume. */
export interface RegionConfig {
  readonly name: string;
  readonly description: string;
  /** In the order in which `auto` tries them. */
  readonly geographies: readonly GeographyConfig[];
  readonly prices: Prices;
}

interface GpuModel {
  readonly model: string;
  readonly name: string;
  readonly memoryGb: readonly number[];
  readonly fullMemoryGb: number;
}

/** How long the simulated runtime takes, on the platform's clock. */
export interface Durations {
  readonly provisionMs: number;
  readonly stopMs: number;
  readonly removeMs: number;
  readonly volumeProvisionMs: number;
  readonly volumeExpandMs: number;
  readonly volumeDeleteMs: number;
}

export interface ControlPlaneConfig {
  readonly regions: readonly RegionConfig[];
  readonly gpuCatalog: readonly GpuModel[];
  /** The largest service that is accepted. */
  readonly largestResources: { readonly gpuCount: number; readonly cpu: number; readonly memoryGb: number };
  readonly durations: Durations;
  /** The built-in ones: public, the same for every account. */
  readonly templates: readonly BuiltInTemplate[];
  readonly browserEnabled: boolean;
  /** Whether metrics of services are collected (§4). */
  readonly metricsEnabled: boolean;
}

/** The id is a UUID that stays the same over versions. */
interface BuiltInTemplate extends TemplateFields {
  readonly id: string;
}

const gpus = { h100: 100_000, a100: 100_000, l4: 100_000 };

export const defaultConfig: ControlPlaneConfig = {
  regions: [
    {
      name: 'standard',
      description: 'Data-centre hosts',
      geographies: [
        { name: 'europe', gpus },
        { name: 'north-america', gpus },
      ],
      prices: {
        gpuHourMicros: 900_000,
        cpuHourMicros: 12_000,
        memoryGbHourMicros: 1_500,
        storageGbHourMicros: 140,
      },
    },
    {
      name: 'economy',
      description: 'Shared hosts at a lower price',
      geographies: [
        { name: 'europe', gpus: { l4: 100_000 } },
        { name: 'asia', gpus: { l4: 100_000 } },
      ],
      prices: {
        gpuHourMicros: 400_000,
        cpuHourMicros: 6_000,
        memoryGbHourMicros: 800,
        storageGbHourMicros: 100,
      },
    },
  ],
  gpuCatalog: [
    { model: 'h100', name: 'NVIDIA H100', memoryGb: [10, 20, 40, 80], fullMemoryGb: 80 },
    { model: 'a100', name: 'NVIDIA A100', memoryGb: [10, 20, 40, 80], fullMemoryGb: 80 },
    { model: 'l4', name: 'NVIDIA L4', memoryGb: [24], fullMemoryGb: 24 },
  ],
  largestResources: { gpuCount: 16, cpu: 512, memoryGb: 4096 },
  durations: {
    provisionMs: 8_000,
    stopMs: 3_000,
    removeMs: 3_000,
    volumeProvisionMs: 5_000,
    volumeExpandMs: 6_000,
    volumeDeleteMs: 4_000,
  },
  templates: [
    {
      id: '7d3f4c52-6a0e-4f0b-9d35-1f6a5b0c1a01',
      name: 'Web server',
      description: 'nginx on a small host, asleep when nobody uses it',
      image: 'docker.io/library/nginx:1.29',
      command: null,
      resources: { gpuCount: 0, cpu: 1, memoryGb: 2 },
      httpPort: 80,
      containerDiskGb: 10,
      workspaceGb: null,
      sleepAfterMinutes: 60,
      requiredEnvironment: [],
    },
    {
      id: '7d3f4c52-6a0e-4f0b-9d35-1f6a5b0c1a02',
      name: 'GPU notebook',
      description: 'JupyterLab with PyTorch on one GPU',
      image: 'quay.io/jupyter/pytorch-notebook:cuda12-latest',
      command: ['start-notebook.py', '--ip=0.0.0.0'],
      resources: { gpuCount: 1, cpu: 8, memoryGb: 32 },
      httpPort: 8888,
      containerDiskGb: 40,
      workspaceGb: 50,
      sleepAfterMinutes: 30,
      requiredEnvironment: ['JUPYTER_TOKEN'],
    },
  ],
  browserEnabled: false,
  metricsEnabled: true,
};

/** Charges become a ledger entry this often (platform time); funds are looked at then, too. */
export const chargeIntervalMs = 60_000;
/** The platform's clock counts at most this much of the time that the server was down. */
export const longestCatchUpMs = 24 * 60 * 60 * 1000;
/** Answers are kept for replay this long (real time). */
export const keyRetentionMs = 24 * 60 * 60 * 1000;
export const heartbeatSeconds = 30;
export const activityExpirySeconds = 300;
export const eventsKeptPerService = 500;
export const eventsPerRead = 100;
export const activitiesPerService = 1000;
export const bodyLimitBytes = 1024 * 1024;
export const journalEntries = 100_000;
/** Of a command in a container, each of its two outputs; what is beyond is cut off. */
export const execOutputBytes = 64 * 1024;
export const execDefaultSeconds = 10;
