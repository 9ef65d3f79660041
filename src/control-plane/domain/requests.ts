/**
 * What requests may hold, beyond the contract's form (api/wire.ts): the contract gives few maxima and no minima of
 * resources (§8), and tenants do not trust each other. Every text has a maximum, so that no request, record or answer is
 * large; and every service has at least what an engine can limit it to, because engines take 0 for "unlimited".
 */
import { z } from 'zod';
import * as wire from '../../api/wire.ts';

export const bounds = {
  /** Of the name of a service, in characters. */
  serviceNameLength: 256,
  imageLength: 1024,
  /** Of the name of a region, a geography, a mode. */
  wordLength: 64,
  commandWords: 1024,
  /** Of all elements together. */
  commandBytes: 64 * 1024,
  environmentEntries: 1024,
  environmentNameLength: 256,
  /** Of all names and values together. */
  environmentBytes: 128 * 1024,
  leastCpu: 0.01,
  /** 8 MiB. No engine starts a container with less than 6 MiB. */
  leastMemoryGb: 1 / 128,
} as const;

const word = z.string().min(1).max(bounds.wordLength);
const image = z.string().min(1).max(bounds.imageLength);

const command = z
  .array(z.string())
  .max(bounds.commandWords)
  .refine((words) => bytesOf(words) <= bounds.commandBytes, `must be at most ${bounds.commandBytes} bytes`);

const environment = z
  .record(z.string().min(1).max(bounds.environmentNameLength), z.string())
  .refine(
    (entries) => Object.keys(entries).length <= bounds.environmentEntries,
    `must have at most ${bounds.environmentEntries} entries`,
  )
  .refine(
    (entries) => bytesOf(Object.entries(entries).flat()) <= bounds.environmentBytes,
    `must be at most ${bounds.environmentBytes} bytes, names and values together`,
  );

const resources = wire.serviceResources.extend({
  cpu: z.number().min(bounds.leastCpu),
  memoryGb: z.number().min(bounds.leastMemoryGb),
});

export const serviceCreate = wire.serviceCreate.extend({
  name: z.string().min(1).max(bounds.serviceNameLength),
  region: word,
  geography: word.optional(),
  image,
  resources,
  command: command.optional(),
  volumeMode: word.optional(),
  environment: environment.optional(),
});

export const servicePatchRequest = wire.servicePatchRequest.extend({
  patch: wire.servicePatch.extend({
    image: image.optional(),
    command: command.optional(),
    environment: environment.optional(),
  }),
});

/** §2 "Service action": `resources` with `resize` only. */
export const serviceAction = z.discriminatedUnion('action', [
  z.strictObject({ action: z.enum(['start', 'stop', 'restart', 'delete']) }),
  z.strictObject({ action: z.literal('resize'), resources }),
]);

export const volumeCreate = wire.volumeCreate.extend({ region: word, geography: word.optional() });

export const templateSpec = wire.templateSpec.extend({
  command: command.nullish(),
  resources: resources.optional(),
});

export const templateUpdate = wire.templateUpdate.extend({ spec: templateSpec });

function bytesOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}
