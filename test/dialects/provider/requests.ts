/** What the contract says of request bodies. Each tells what is wrong; undefined: nothing. */
import type { Json } from './conduct.ts';

const serviceKeys = [
  'name',
  'region',
  'image',
  'resources',
  'geography',
  'command',
  'httpPort',
  'volumeGb',
  'volumeMode',
  'volumeId',
  'sleepAfterMinutes',
  'environment',
];

/** §2 "Service create spec". */
export function checkCreate(body: Json): string | undefined {
  return (
    unknownKey(body, serviceKeys) ??
    missing(body, ['name', 'region', 'image', 'resources']) ??
    wrongResources(body.resources) ??
    wrongFields(body) ??
    (body.volumeId !== undefined && body.volumeGb !== undefined ? 'both volumeId and volumeGb' : undefined)
  );
}

/** §2 "Service patch". */
export function checkPatch(body: Json): string | undefined {
  const problem = unknownKey(body, ['revision', 'patch']) ?? wrongRevision(body.revision);
  if (problem !== undefined) return problem;
  const { patch } = body;
  const unknown = unknownKey(patch, ['image', 'command', 'environment', 'httpPort']);
  return unknown ?? (Object.keys(patch).length === 0 ? 'an empty patch' : wrongFields(patch));
}

/** §2 "Service action". */
export function checkAction(body: Json): string | undefined {
  if (!['start', 'stop', 'restart', 'resize', 'delete'].includes(body.action))
    return `no action ${body.action}`;
  if (body.action === 'resize')
    return unknownKey(body, ['action', 'resources']) ?? wrongResources(body.resources);
  return unknownKey(body, ['action']);
}

/** §2 "Activity record". */
export function checkActivity(body: Json): string | undefined {
  if (!isUuid(body.id)) return `the activity ${body.id} has no UUID`;
  if (typeof body.name !== 'string' || body.name.length > 128) return 'the activity has no name';
  return unknownKey(body, ['id', 'name', 'release']);
}

/** §2 "Volume create spec". */
export function checkVolume(body: Json): string | undefined {
  const { name, sizeGb } = body;
  if (typeof name !== 'string' || name.length < 1 || name.length > 64) return 'a name of 1 to 64 characters';
  if (!Number.isInteger(sizeGb) || sizeGb < 10 || sizeGb > 4096) return 'sizeGb from 10 to 4096';
  return unknownKey(body, ['name', 'region', 'geography', 'sizeGb']) ?? missing(body, ['region']);
}

/** §2 "Template". */
export function checkTemplate(spec: Json): string | undefined {
  return (
    missing(spec, ['name', 'image']) ??
    (spec.resources === undefined ? undefined : wrongResources(spec.resources))
  );
}

function wrongFields({
  command,
  httpPort,
  environment,
  volumeId,
  sleepAfterMinutes,
}: Json): string | undefined {
  if (command !== undefined && !isTexts(command)) return 'command is no array of strings';
  if (httpPort !== undefined && !Number.isInteger(httpPort)) return 'httpPort is no integer';
  if (environment !== undefined && !isTexts(Object.values(environment)))
    return 'environment is no map of strings';
  if (volumeId !== undefined && !isUuid(volumeId)) return 'volumeId is no UUID';
  const isPolicy = sleepAfterMinutes === undefined || sleepAfterMinutes === null || sleepAfterMinutes >= 1;
  return isPolicy ? undefined : 'sleepAfterMinutes is neither 1 to 1440 nor null';
}

function wrongResources(resources: Json): string | undefined {
  const keys = ['gpuCount', 'cpu', 'memoryGb'];
  const isWhole = keys.every((key) => typeof resources?.[key] === 'number');
  return isWhole ? unknownKey(resources, keys) : 'resources are not {gpuCount, cpu, memoryGb}';
}

function wrongRevision(revision: unknown): string | undefined {
  return Number.isSafeInteger(revision) && (revision as number) > 0
    ? undefined
    : `the revision ${JSON.stringify(revision)}`;
}

function unknownKey(body: Json, known: readonly string[]): string | undefined {
  const unknown = Object.keys(body ?? {}).find((key) => !known.includes(key));
  return unknown === undefined ? undefined : `the field ${unknown} is not in the contract`;
}

function missing(body: Json, keys: readonly string[]): string | undefined {
  const key = keys.find((each) => body?.[each] === undefined);
  return key === undefined ? undefined : `${key} is missing`;
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

function isUuid(value: unknown): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(String(value));
}
