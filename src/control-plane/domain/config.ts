/**
 * What the operator of a control plane decides: tiers, places, capacity, prices, how long things take, and whose
 * ID tokens count. Every number has its unit in its name; prices are integers in micro-USD per hour.
 * config-file.ts reads it, and has the defaults.
 */
import type { Quota } from './quotas.ts';
import type { TemplateFields } from '../store/records.ts';

export interface Prices {
  readonly gpuHourMicros: number;
  readonly cpuHourMicros: number;
  readonly memoryGbHourMicros: number;
  readonly storageGbHourMicros: number;
  /** Of models that do not cost `gpuHourMicros`. */
  readonly gpuModelHourMicros?: Readonly<Record<string, number>> | undefined;
}

export interface GeographyConfig {
  readonly name: string;
  /** GPUs that exist there, by model of the GPU catalog. */
  readonly gpus: Readonly<Record<string, number>>;
  /** Of all services and volumes together; undefined: not bounded. */
  readonly cpu?: number | undefined;
  readonly memoryGb?: number | undefined;
  readonly storageGb?: number | undefined;
  /** What differs from the region. */
  readonly cluster?: ClusterPlace | undefined;
}

/** What `--runtime kubernetes` makes of a place. */
export interface ClusterPlace {
  /** Labels of the nodes that its Pods run on. */
  readonly nodeSelector?: Readonly<Record<string, string>> | undefined;
  /** As in a Pod. */
  readonly tolerations?: readonly object[] | undefined;
  /** Absent: the default one of the cluster. */
  readonly storageClass?: string | undefined;
  readonly accessMode?: 'ReadWriteOnce' | 'ReadWriteOncePod' | undefined;
  readonly runtimeClass?: string | undefined;
  /** By model of the GPU catalog. */
  readonly gpus?:
    | Readonly<
        Record<
          string,
          {
            /** Default: `nvidia.com/gpu`. */
            readonly resource?: string | undefined;
            readonly nodeSelector?: Readonly<Record<string, string>> | undefined;
          }
        >
      >
    | undefined;
}

/** A tier: the `region` of a service or a volume. */
export interface RegionConfig {
  readonly name: string;
  readonly description: string;
  /** In the order in which `auto` tries them. */
  readonly geographies: readonly GeographyConfig[];
  /** Null: not configured, and nothing that would cost anything is created there (§4). */
  readonly prices: Prices | null;
  readonly cluster?: ClusterPlace | undefined;
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

/** An OpenID provider whose ID tokens authenticate (§5 rule 1). */
export interface IdentityConfig {
  /** Exactly as in the tokens' `iss`. */
  readonly issuer: string;
  /** One of them must be in the tokens' `aud`. */
  readonly audience: readonly string[];
  /** Where the provider's keys are; null: as in its discovery document. */
  readonly jwksUri: string | null;
  /** Which header carries the token, in lower case; `authorization`: as `Bearer TOKEN`. */
  readonly header: string;
  readonly algorithms: readonly string[];
}

/** All that services and volumes may have together, wherever they are; null: not bounded; undefined: not stated. */
export interface MachineCapacity {
  readonly cpu?: number | null | undefined;
  readonly memoryGb?: number | null | undefined;
  readonly storageGb?: number | null | undefined;
}

/** Of real containers. */
export interface ContainersConfig {
  /** Unstated amounts are those of the container engine's machine, as far as it shows them. */
  readonly capacity: MachineCapacity;
  /** `HOST` or `HOST:PORT`: registries that images may come from although they are not public. */
  readonly registries: readonly string[];
  /** The GPUs of the machine of `--runtime docker`: ids as the container engine knows them. */
  readonly gpus: readonly { readonly id: string; readonly model: string }[];
  /** What containers may reach beside the internet, and what of that they may not. */
  readonly egress: {
    readonly allow: readonly { readonly to: string; readonly port?: number | undefined }[];
    readonly deny: readonly { readonly to: string; readonly port?: number | undefined }[];
  };
  readonly kubernetes: KubernetesConfig;
}

/** Where services with a port answer. */
export type EndpointConfig =
  /** At the address of a Service, which the cluster reaches, and whoever has a route to it. */
  | { readonly kind: 'cluster' }
  /** At a port of every node; `host`: the address that is shown; default: that of the Pod's node. */
  | { readonly kind: 'nodePort'; readonly host?: string | undefined }
  /** At `SERVICE_ID.DOMAIN`. */
  | {
      readonly kind: 'ingress';
      readonly domain: string;
      readonly scheme: 'http' | 'https';
      readonly className?: string | undefined;
    }
  | {
      readonly kind: 'gateway';
      readonly domain: string;
      readonly scheme: 'http' | 'https';
      readonly gateway: {
        readonly name: string;
        readonly namespace: string;
        readonly sectionName?: string | undefined;
      };
    };

/** Of `--runtime kubernetes`. */
export interface KubernetesConfig {
  readonly endpoint: EndpointConfig;
  /** What a container may write beside its volume. */
  readonly ephemeralStorageGb: number;
  /** How long a Pod may wait for a node with room. */
  readonly unschedulableSeconds: number;
  /** How long a launch may take in all. */
  readonly launchSeconds: number;
  /** Networks of the cluster's Pods, beside those that its nodes show. */
  readonly podNetworks: readonly string[];
}

export interface ControlPlaneConfig {
  readonly regions: readonly RegionConfig[];
  readonly gpuCatalog: readonly GpuModel[];
  /** The largest service that is accepted. */
  readonly largestResources: { readonly gpuCount: number; readonly cpu: number; readonly memoryGb: number };
  readonly durations: Durations;
  /** The built-in ones: public, the same for every account. */
  readonly templates: readonly BuiltInTemplate[];
  /** Of each account, unless the accounts file gives another. */
  readonly quota: Quota;
  readonly browserEnabled: boolean;
  /** Whether metrics of services are collected (§4). */
  readonly metricsEnabled: boolean;
  /** Null: API keys only. */
  readonly identity: IdentityConfig | null;
  readonly containers: ContainersConfig;
}

/** The id is a UUID that stays the same over versions. */
interface BuiltInTemplate extends TemplateFields {
  readonly id: string;
}

/** Charges become a ledger entry this often (platform time); funds are checked then, too. */
export const chargeIntervalMs = 60_000;
/** The platform's clock counts at most this much of the time that the server was down. */
export const longestCatchUpMs = 24 * 60 * 60 * 1000;
/** Answers are kept for replay this long (real time). */
export const keyRetentionMs = 24 * 60 * 60 * 1000;
/** What commands in containers answered is kept for replay this long (real time), and so many of an account. */
export const outputRetentionMs = 60 * 60 * 1000;
export const outputsKept = 50;
/** Of an account; the newest is kept, however large. */
export const outputBytesKept = 4 * 1024 * 1024;
/** Of an account at once: each reads all that a container has written. */
export const logReadsAtOnce = 4;
export const commandsAtOnce = 16;
/** As `outputRetentionMs`, of addresses of browser sessions. */
export const addressRetentionMs = 5 * 60 * 1000;
export const heartbeatSeconds = 30;
export const activityExpirySeconds = 300;
/** As `keyRetentionMs`, of activity requests. */
export const activityKeyRetentionMs = activityExpirySeconds * 1000;
/** Of a service whose account has few; see events.ts. */
export const eventsKeptPerService = 500;
export const eventsKeptPerAccount = 500_000;
export const eventsPerRead = 100;
export const activitiesPerService = 1000;
export const activitiesPerAccount = 100_000;
/** Sets of credentials: the present ones of each registry, and older ones that launches have captured. */
export const credentialsPerAccount = 100;
export const journalEntries = 100_000;
export const journalBytes = 64 * 1024 * 1024;
/** Of a command in a container, each of its two outputs; what is beyond is cut off. */
export const execOutputBytes = 64 * 1024;
export const execDefaultSeconds = 10;
