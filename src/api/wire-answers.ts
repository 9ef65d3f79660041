/**
 * Answers of the API as the client has them once they were read (readers.ts). The schemas give the documented form, and the
 * reference control plane is held to them; what the client accepts beyond it is in field-forms.ts.
 *
 * They are loose: unknown fields and unknown states are kept, because the contract shows only part of what is returned
 * (§2 "Gaps in resource fields").
 */
import { z } from 'zod';

const uuid = z.guid();
const micros = z.int();
/** As answered: an impossible one is reported of its own object, and does not prevent others from being read. */
const shownRevision = z.number();
/** An unknown member reads as absent when the API answers null for "none". */
const maybe = <Schema extends z.ZodType>(schema: Schema) => schema.nullish();

/** A field of an answer that could not be read (reading.ts). */
export interface Unreadable {
  readonly field: string;
  /** Its type and value, of one line and bounded. */
  readonly found: string;
  readonly expected: string;
  /** Nothing may be done with the object. */
  readonly decides: boolean;
}

interface Read {
  /** What of it could not be read: those fields are missing. */
  readonly unreadable?: readonly Unreadable[];
}

// ---- services (§2) -----------------------------------------------------------------------------------

/**
 * A service as answered. The contract names state, revision, resources, resolved geography, endpoint and the
 * names of environment variables (§2 "Known fields"), without giving each its key; the keys here are the
 * reference control plane's, and everything but `id` may be missing.
 */
export const service = z.looseObject({
  id: uuid,
  name: z.string().optional(),
  state: z.string().optional(),
  revision: shownRevision.optional(),
  /** Members that the API does not show are missing. */
  resources: maybe(
    z.looseObject({
      gpuCount: z.number().optional(),
      cpu: z.number().optional(),
      memoryGb: z.number().optional(),
    }),
  ),
  region: maybe(z.string()),
  geography: maybe(z.string()),
  image: maybe(z.string()),
  /** A list of arguments, or one text in the quoting of the API. */
  command: maybe(z.union([z.array(z.string()), z.string()])),
  httpPort: maybe(z.int()),
  endpoint: maybe(z.string()),
  environmentNames: maybe(z.array(z.string())),
  volumeId: maybe(z.string()),
  sleepAfterMinutes: maybe(z.int()),
  hourlyMicros: maybe(micros),
  error: maybe(z.string()),
});
export type Service = z.infer<typeof service> & Read;
/** An entry of a list whose id could not be read. */
export type Unidentified<Item> = {
  readonly [Field in keyof Item]: Field extends 'id' ? undefined : Item[Field];
};

/** What a list shows. With an unidentified entry it proves the absence of nothing. */
export interface Shown<Item> {
  readonly items: readonly Item[];
  readonly unidentified: readonly Unidentified<Item>[];
}

// ---- volumes (§2) ------------------------------------------------------------------------------------

export const volume = z.looseObject({
  id: uuid,
  name: z.string().optional(),
  mode: maybe(z.string()),
  serviceId: maybe(z.string()),
  status: z.string().optional(),
  revision: shownRevision.optional(),
  region: maybe(z.string()),
  geography: maybe(z.string()),
  sizeGb: maybe(z.int()),
  requestedSizeGb: maybe(z.int()),
  provisioned: maybe(z.boolean()),
  hourlyMicros: maybe(micros),
  error: maybe(z.string()),
});
export type Volume = z.infer<typeof volume> & Read;

// ---- templates and registries (§2) -------------------------------------------------------------------

/**
 * The fields of a returned template are not shown beyond those of its specification (§2 "Gaps"). Built-in ones need
 * not have a UUID: they are never in a path.
 */
export const template = z.looseObject({
  id: z.string().min(1),
  name: z.string().optional(),
  revision: shownRevision.optional(),
  builtIn: maybe(z.boolean()),
  description: maybe(z.string()),
  image: maybe(z.string()),
  command: maybe(z.array(z.string())),
  resources: maybe(z.looseObject({ gpuCount: z.number(), cpu: z.number(), memoryGb: z.number() })),
  httpPort: maybe(z.int()),
  containerDiskGb: maybe(z.number()),
  workspaceGb: maybe(z.number()),
  sleepAfterMinutes: maybe(z.int()),
  requiredEnvironment: maybe(z.array(z.string())),
});
export type Template = z.infer<typeof template> & Read;

/** The metadata's fields are not shown (§2 "Gaps"), but that it lists the linked services: each as an id, or more. */
export const registry = z.looseObject({
  id: uuid,
  repository: z.string().optional(),
  revision: shownRevision.optional(),
  linkedServices: maybe(
    z.array(
      z.union([
        z.string(),
        z.looseObject({
          id: z.string(),
          name: maybe(z.string()),
          state: maybe(z.string()),
          usesCurrentCredentials: maybe(z.boolean()),
        }),
      ]),
    ),
  ),
  /** Of unknown form: a time, or null before the first rotation. */
  rotatedAt: z.unknown().optional(),
});
export type Registry = z.infer<typeof registry> & Read;

// ---- account, identity, catalog (§2) -----------------------------------------------------------------

export const ledgerEntry = z.looseObject({
  id: z.string().optional(),
  amountMicros: maybe(micros),
  description: maybe(z.string()),
  createdAt: maybe(z.int()),
});
export type LedgerEntry = z.infer<typeof ledgerEntry> & Read;

export const account = z.looseObject({
  balanceMicros: micros,
  currency: z.string(),
  services: z.array(service),
  volumes: z.array(volume),
  ledger: z.array(ledgerEntry),
});

/** As read: what informs may be missing, and the lists tell whether they show everything. */
export interface Account extends Read {
  /** Undefined when it can't be read: then nothing is spent. */
  readonly balanceMicros: number | undefined;
  readonly currency: string;
  readonly services: readonly Service[];
  readonly volumes: readonly Volume[];
  readonly unidentified: {
    readonly services: readonly Unidentified<Service>[];
    readonly volumes: readonly Unidentified<Volume>[];
  };
  readonly ledger: readonly LedgerEntry[];
}

/** Identity fields are not shown (§2 "Gaps"): one of another type is as good as none. */
export const identity = z.looseObject({
  id: maybe(z.union([z.string(), z.int().transform(String)])).catch(undefined),
  email: maybe(z.string()).catch(undefined),
  emailVerified: maybe(z.boolean()).catch(undefined),
});
export type Identity = z.infer<typeof identity>;

/** Region fields are not shown (§2 "Gaps"). */
const region = z.looseObject({
  name: maybe(z.string()).catch(undefined),
  geographies: maybe(z.array(z.unknown())).catch(undefined),
});
export type Region = z.infer<typeof region>;

export const catalog = z.looseObject({
  regions: z.array(region),
  templates: z.array(z.looseObject({})),
  gpuCatalog: z.array(
    z.looseObject({
      model: z.string(),
      name: z.string(),
      memoryGb: z.array(z.number()),
      fullMemoryGb: z.number(),
    }),
  ),
  currency: z.string(),
  browserEnabled: z.boolean(),
  payment: z.looseObject({ provider: z.string(), status: z.string(), mode: z.string().optional() }),
});

/** As read: a list that can't be read is missing, which is not the same as an empty one. */
export interface Catalog {
  readonly regions: readonly Region[];
  readonly templates: readonly Readonly<Record<string, unknown>>[];
  readonly gpuCatalog: readonly unknown[] | undefined;
  readonly currency: string | undefined;
  /** Undefined when it can't be read. */
  readonly browserEnabled: boolean | undefined;
  readonly payment: { readonly status?: string };
}
