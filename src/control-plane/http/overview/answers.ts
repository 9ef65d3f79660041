/**
 * What the paths of the page answer: types only, for the server and for the page in the browser (src/page/control-plane/). Times are RFC 3339. Texts of
 * tenants are cut, and are text. There is no API key, no environment value, no command and no registry password in any of them.
 */

export interface Summary {
  /** Changes with the files of the page; null: there is no page. */
  readonly page: string | null;
  readonly timeScale: number;
  readonly accounts: { readonly total: number; readonly suspended: number; readonly withoutFunds: number };
  /** By state. */
  readonly services: Readonly<Record<string, number>>;
  /** By status. */
  readonly volumes: Readonly<Record<string, number>>;
  readonly hourlyMicros: number;
  readonly faults: { readonly total: number; readonly hits: number };
  /** What has a bound, that of the machine first. */
  readonly capacity: readonly Bounded[];
  readonly capacityOmitted: number;
}

export interface Bounded {
  /** Null: of the machine. */
  readonly place: { readonly region: string; readonly geography: string } | null;
  /** `cpu`, `memoryGb`, `storageGb`, or a model of GPUs. */
  readonly what: string;
  readonly taken: number;
  readonly total: number;
}

/** A window of a list. */
export interface Window<Item> {
  readonly total: number;
  readonly offset: number;
  readonly items: readonly Item[];
}

export interface Account {
  readonly name: string;
  readonly balanceMicros: number;
  readonly hourlyMicros: number;
  /** How long the balance lasts in real time; null: nothing is charged. */
  readonly runwaySeconds: number | null;
  readonly services: number;
  readonly volumes: number;
  readonly storedBytes: number;
  /** It has far more stored than its quota. What it has is not loaded, and not counted. */
  readonly suspended: boolean;
}

export interface Quota {
  readonly resource: string;
  readonly used: number;
  readonly limit: number;
}

export interface Service {
  readonly id: string;
  readonly account: string;
  readonly name: string;
  readonly state: string;
  /** The operation under way. */
  readonly doing: string | null;
  readonly region: string;
  readonly geography: string;
  readonly gpuModel: string | null;
  readonly resources: { readonly gpuCount: number; readonly cpu: number; readonly memoryGb: number };
  readonly image: string;
  /** While it runs. */
  readonly hourlyMicros: number;
  readonly isCharged: boolean;
  readonly endpoint: string | null;
  readonly error: string | null;
  readonly isProtected: boolean;
  readonly createdAt: string;
  /** Its newest event. */
  readonly latest: { readonly at: string; readonly message: string } | null;
}

export interface ServiceDetail {
  readonly service: Service;
  /** The newest first, at most 100. */
  readonly events: readonly { readonly at: string; readonly message: string }[];
  /** Tasks that protect it, at most 100. */
  readonly activities: readonly Activity[];
}

export interface Activity {
  readonly name: string;
  readonly registeredAt: string;
  readonly lastHeartbeatAt: string;
  /** Its heartbeats come in time. */
  readonly fresh: boolean;
}

export interface Volume {
  readonly id: string;
  readonly account: string;
  readonly name: string;
  readonly mode: string;
  readonly status: string;
  readonly sizeGb: number;
  readonly requestedSizeGb: number;
  readonly region: string;
  readonly geography: string;
  /** The name of the service that has it. */
  readonly service: string | null;
  readonly hourlyMicros: number;
  readonly error: string | null;
  readonly createdAt: string;
}

export interface LedgerEntry {
  /** Null: what has accrued since the newest entry. */
  readonly number: number | null;
  readonly at: string;
  readonly amountMicros: number;
  readonly description: string;
}

export interface AccountDetail {
  readonly account: Account;
  readonly quotas: readonly Quota[];
  readonly services: Window<Service>;
  readonly volumes: Window<Volume>;
  readonly ledger: Window<LedgerEntry>;
}

/** As `PUT /faults` has it, with how often it has hit. */
export interface Fault {
  readonly fault: string;
  readonly method: string | null;
  readonly path: string | null;
  readonly status: number | null;
  readonly code: string | null;
  readonly retryAfter: string | null;
  readonly delayMs: number | null;
  readonly times: number | null;
  readonly every: number | null;
  readonly hits: number;
}
