/** An object of a cluster, and an Event about one, as they are shown. Pure. */
import { parseRfc3339 } from '../../base/index.ts';
import type { ClusterEntry } from '../../desired/index.ts';
import { storedSpec } from '../../engine/index.ts';
import type { KubernetesObject } from '../../kubernetes/index.ts';
import {
  apiVersion,
  managedKinds,
  objectKey,
  parseObjectKey,
  resourceTypes,
  type ObjectKey,
} from '../../resources/index.ts';
import { writtenState, type WrittenState } from '../../state/index.ts';
import type { ClusterEvent } from './timeline.ts';

/** Of a document that the schema refuses, nothing is shown: where its values are is not known. */
export function shownState({ key, facts, read }: ClusterEntry): WrittenState {
  const written = writtenState(key, facts.uid, facts.status);
  const { annotations = {}, labels = {} } = facts.object.metadata;
  const spec = read.is === 'object' ? storedSpec(read.object) : {};
  const owner = facts.controller?.key;
  const derived = written.record.derived ?? (owner === undefined ? undefined : { owner });
  const record = {
    ...written.record,
    generation: facts.generation,
    manifest: { annotations, labels, spec },
    file: placeOf(key),
    line: undefined,
    deletionRequestedAt: facts.deletionRequestedAt,
  };
  return { ...written, record: derived ? { ...record, derived } : record };
}

function placeOf(key: ObjectKey): string {
  const { kind, namespace, name } = parseObjectKey(key);
  return `${resourceTypes[kind].plural}/${namespace}/${name}`;
}

/** What is shown of a message; all of it is in the conditions. */
const longestMessage = 500;

interface EventFields {
  readonly involvedObject?: {
    readonly apiVersion?: string;
    readonly kind?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
  readonly firstTimestamp?: string | null;
}

/** Undefined: it is about no managed object. */
export function shownEvent(event: KubernetesObject): ClusterEvent | undefined {
  const {
    involvedObject: about,
    type,
    reason = '',
    message = '',
    count = 1,
    ...times
  } = event as EventFields;
  const { uid, namespace, creationTimestamp = '' } = event.metadata;
  const kind = managedKinds.find((each) => each === about?.kind);
  // Who may write Events of one namespace writes about no other one.
  const isOurs = about?.apiVersion === apiVersion && namespace !== undefined && about.namespace === namespace;
  if (!isOurs || !kind || about.name === undefined) return undefined;
  const { lastTimestamp, eventTime, firstTimestamp } = times;
  const at = [lastTimestamp, eventTime, firstTimestamp, creationTimestamp]
    .map((time) => parseRfc3339(time ?? ''))
    .find((time) => time !== undefined);
  if (at === undefined) return undefined;
  const shown = message.length > longestMessage ? `${message.slice(0, longestMessage - 1)}…` : message;
  return {
    uid,
    object: objectKey(kind, namespace, about.name),
    type: type === 'Warning' ? 'Warning' : 'Normal',
    reason,
    message: shown,
    count,
    at,
  };
}

/** An Event without what nobody reads: there may be many, and the timeline has its own copy. */
export function leastOfEvent(event: KubernetesObject): KubernetesObject {
  const { apiVersion: version, kind, metadata } = event;
  const { name, namespace, uid, resourceVersion } = metadata;
  const least = { name, uid, resourceVersion, ...(namespace === undefined ? {} : { namespace }) };
  const shown = shownEvent(event);
  return { apiVersion: version, kind, metadata: least, ...(shown ? { shown } : {}) };
}
