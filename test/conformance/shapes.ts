/**
 * The shapes that the contract states, transcribed from it and from nowhere else. Everything is loose: what the
 * contract does not show may be there, and may be anything.
 */
import { z } from 'zod';

const largestInteger = Number.MAX_SAFE_INTEGER;

/** §2 "Shared value rule". */
export const revision = z.int().min(1).max(largestInteger);
export const micros = z.int().min(-largestInteger).max(largestInteger);
export const uuid = z.guid();

/** §7 rule 1. */
export const errorBody = z.looseObject({ error: z.looseObject({ code: z.string(), message: z.string() }) });
/** §7 rule 2. 401 is for credentials (§5 rule 6), and 429 is never seen here: it is obeyed. */
export const listedStatuses = /^(400|403|404|409|503) /;

export const resources = z.looseObject({ gpuCount: z.number(), cpu: z.number(), memoryGb: z.number() });

/** §2 "Known fields". Those that have no key in the contract (geography, variable names) are not here. */
export const service = z.looseObject({ id: uuid, state: z.string(), revision, resources });

export const volume = z.looseObject({
  id: uuid,
  name: z.string(),
  mode: z.unknown(),
  serviceId: z.unknown(),
  status: z.unknown(),
  revision,
  sizeGb: z.unknown(),
  requestedSizeGb: z.unknown(),
  provisioned: z.unknown(),
  hourlyMicros: z.unknown(),
  error: z.unknown(),
});

export const volumeDeletion = z.looseObject({
  volumeId: uuid,
  operationId: z.unknown(),
  status: z.literal('deleting'),
});

export const deletion = z.looseObject({ id: uuid, deleted: z.literal(true) });

export const activityAnswer = z.looseObject({
  id: uuid,
  heartbeatSeconds: z.literal(30),
  expiresInSeconds: z.literal(300),
});

export const browserSession = z.looseObject({ url: z.string() });

export const event = z.looseObject({ message: z.string(), created_at: z.int() });

export const gpu = z.looseObject({
  model: z.string(),
  name: z.string(),
  memoryGb: z.array(z.number()),
  fullMemoryGb: z.number(),
});

export const payment = z.looseObject({
  provider: z.string(),
  status: z.enum(['enabled', 'disabled']),
  mode: z.string().optional(),
});
