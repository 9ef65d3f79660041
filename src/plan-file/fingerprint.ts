/**
 * Fingerprints of steps: digests of what is sent, by which a step of a plan file is known again. Left out is what another process,
 * another state file or a foreign change may have otherwise, and that changes nothing of the effect:
 *
 * | left out                       | because                                                                  |
 * |--------------------------------|--------------------------------------------------------------------------|
 * | revisions                      | every change of anybody moves them; a request carries the newest one     |
 * | marks                          | they hold digests by the key of the state, and a CI may have none        |
 * | the id of what the plan makes  | nobody knows it before; it is `new`                                      |
 * | the id of a volume of the plan | the same; the object of the volume stands in its place                   |
 */
import type { Action, RosterContent } from '../engine/plan/index.ts';
import { parseBeacon, withVolumeMark, withoutTemplateMark } from '../engine/plan/index.ts';
import type { ObjectKey } from '../resources/index.ts';
import { sha256 } from './format.ts';
import { withoutValues, type HiddenValues } from './values.ts';

export interface StepContext {
  readonly hidden: HiddenValues;
  /** What the object was when the plan was made. Undefined: there was nothing. */
  readonly beforeId: string | undefined;
  /** The objects that its document refers to. */
  readonly referred: readonly ObjectKey[];
  readonly ownerOf: (id: string) => ObjectKey | undefined;
}

export function stepFingerprint(action: Action, context: StepContext): string {
  return sha256(comparable(action, context));
}

/** Keyed digests of the variables and credentials that it sends, by name. */
export function sentValues(action: Action, hidden: HiddenValues): Record<string, string> {
  if ('credentials' in action) return hidden.ofAll(action.credentials.reveal());
  const sent = 'environment' in action ? action.environment?.reveal() : undefined;
  const own = Object.entries(sent ?? {}).filter(([name]) => parseBeacon(name) === undefined);
  return hidden.ofAll(Object.fromEntries(own));
}

function comparable(action: Action, { hidden, beforeId, referred, ownerOf }: StepContext): object {
  const { do: name, ...sent } = action as { readonly do: string } & Readonly<Record<string, unknown>>;
  const { id, revision: _moves, environment, credentials, body, spec, name: text, ...rest } = sent;
  const hasValues = environment !== undefined || credentials !== undefined;
  return {
    do: name,
    ...(id === undefined ? {} : { target: id === beforeId ? id : 'new' }),
    ...rest,
    ...(typeof text === 'string' ? { name: withVolumeMark(text, '') } : {}),
    ...(body === undefined ? {} : { body: unmarked(body as object, { referred, ownerOf }) }),
    ...(spec === undefined ? {} : { spec: unmarked(spec as object, { referred, ownerOf }) }),
    ...(hasValues ? { values: sentValues(action, hidden) } : {}),
    refers: [...referred].sort(),
  };
}

function unmarked(
  body: Readonly<Record<string, unknown>> | object,
  { referred, ownerOf }: Pick<StepContext, 'referred' | 'ownerOf'>,
): object {
  const { name, description, volumeId, ...rest } = body as Readonly<Record<string, unknown>>;
  const owner = typeof volumeId === 'string' ? ownerOf(volumeId) : undefined;
  const isOfPlan = owner !== undefined && referred.includes(owner);
  return {
    ...rest,
    ...(typeof name === 'string' ? { name: withVolumeMark(name, '') } : {}),
    ...(typeof description === 'string' ? { description: withoutTemplateMark(description) } : {}),
    ...(volumeId === undefined || isOfPlan ? {} : { volumeId }),
  };
}

/** What replicas are to be in the end: how many, and with what. All steps of a roster have the same one. */
export function rosterFingerprint(replicas: number, content: RosterContent, hidden: HiddenValues): string {
  return sha256({ replicas, content: contentFingerprint(content, hidden) });
}

/** Values that are known by their keyed digest only are part of `id`. */
function contentFingerprint({ id, content, values }: RosterContent, hidden: HiddenValues): string {
  const known = values ? { values: hidden.ofAll(values.reveal()) } : { id };
  return sha256({ content: withoutValues(content, hidden), ...known });
}

export function documentDigest(
  object: { readonly labels: object; readonly annotations: object; readonly spec: object } | undefined,
  hidden: HiddenValues,
): string | null {
  if (!object) return null;
  const { labels, annotations, spec } = object;
  return sha256(withoutValues({ labels, annotations, spec }, hidden.unnoticed()));
}

/** Of what a reader may want to compare. Prices, times and addresses move by themselves. */
const observedFields = [
  'name',
  'region',
  'image',
  'command',
  'httpPort',
  'resources',
  'sleepAfterMinutes',
  'environmentNames',
  'volumeId',
  'sizeGb',
  'requestedSizeGb',
  'description',
  'requiredEnvironment',
  'repository',
] as const;

/**
 * A digest of each field that is shown, by name. The list, of which a plan is made, and the single read before a request may show different
 * ones, and the names of variables in another order. A field that is `null` is as good as not shown (src/api/wire-answers.ts).
 */
export function observedDigests(value: object): Record<string, string> {
  const shown: Readonly<Record<string, unknown>> = { ...value };
  const parts = observedFields.flatMap((name) => partsOf(name, shown[name]));
  return Object.fromEntries(parts.map(([name, part]) => [name, sha256(part)]));
}

function partsOf(name: (typeof observedFields)[number], value: unknown): [string, unknown][] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return [[name, name === 'command' ? value : value.map(String).sort()]];
  if (typeof value !== 'object') return [[name, value]];
  return Object.entries(value)
    .filter(([, member]) => member !== undefined && member !== null)
    .map(([member, part]) => [`${name}.${member}`, part]);
}

/** Of the names of a service's variables. The mark is one of them, and has a keyed digest of the values. Undefined: nothing shows them. */
export function environmentDigest(value: object): string | undefined {
  const { environmentNames: names } = value as { readonly environmentNames?: unknown };
  return Array.isArray(names) ? sha256([...(names as string[])].sort()) : undefined;
}
