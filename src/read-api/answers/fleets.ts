/** `/api/v1/fleets/NS/NAME`, with its endpoints and revisions: what the rollout of a fleet looks like. */
import type { z } from 'zod';
import { rfc3339 } from '../../base/index.ts';
import { endpointsOf } from '../../kinds/index.ts';
import { containerService } from '../../kinds/container-service/declaration.ts';
import { serviceFleet } from '../../kinds/service-fleet/declaration.ts';
import type { FleetState } from '../../kinds/service-fleet/state.ts';
import { objectKey, type ObjectKey } from '../../resources/index.ts';
import { statusEntries } from '../../shown/entries.ts';
import { revisionsIn, rolloutProgress } from '../../shown/rollout-progress.ts';
import type { ObjectRecord } from '../../state/index.ts';
import { commandsFor } from '../fleet/commands.ts';
import { seesKey } from '../fleet/reader.ts';
import type { fleet, revisions } from '../schemas/answers.ts';
import { absent, shownRecord, shownRow, type Absent, type AnswerContext } from './context.ts';

export type FleetAnswer = z.infer<typeof fleet>;
export type RevisionsAnswer = z.infer<typeof revisions>;

const counted = [
  'desiredReplicas',
  'replicas',
  'updatedReplicas',
  'readyReplicas',
  'availableReplicas',
  'failedReplicas',
  'drainingReplicas',
] as const;

/** Of one fleet; a document has at most as many replicas. */
const mostSlots = 1000;

export function fleetKey(namespace: string, name: string): ObjectKey {
  return objectKey(serviceFleet.name, namespace, name);
}

export function fleetAnswer(context: AnswerContext, key: ObjectKey): FleetAnswer | Absent {
  const { index, source, reader } = context;
  const indexed = index.rows.get(key);
  const recorded = source.store.record(key);
  if (!indexed || !recorded || !seesKey(reader, key)) return absent;
  const record = shownRecord(context, recorded) as ObjectRecord<FleetState>;
  const { status, manifest } = record;
  const { update } = manifest.spec as { readonly update?: { readonly steps?: Record<string, unknown>[] } };
  const counts = counted.flatMap((field) => {
    const value = status?.[field];
    return typeof value === 'number' ? [[field, value] as const] : [];
  });
  return {
    object: shownRow(context, indexed),
    progress: rolloutProgress(record),
    counts: Object.fromEntries(counts),
    slots: slotsOf(context, key, record),
    steps: update?.steps ?? [],
    rollout: (status?.['rollout'] as Record<string, unknown> | undefined) ?? null,
    revisions: shownRevisions(record),
    placement: (status?.['placement'] as Record<string, unknown>[] | undefined) ?? [],
    commands: statusEntries([record]).flatMap((entry) =>
      commandsFor(entry, source.commandFlags, indexed.row.reason),
    ),
  };
}

function slotsOf(
  context: AnswerContext,
  key: ObjectKey,
  { kind }: ObjectRecord<FleetState>,
): FleetAnswer['slots'] {
  const { index, source, nowMs } = context;
  const [, namespace = '', name = ''] = key.split('/');
  const endpoints = new Map(endpointsOf(source.store, key, nowMs)?.map((each) => [each.slot, each]));
  return (kind.roster ?? []).slice(0, mostSlots).map((entry) => {
    const child = objectKey(containerService.name, namespace, `${name}-${entry.slot}`);
    const indexed = index.rows.get(child);
    const row = indexed && shownRow(context, indexed);
    const endpoint = endpoints.get(entry.slot);
    return {
      slot: entry.slot,
      key: child,
      phase: entry.phase,
      since: rfc3339(entry.since),
      cause: entry.cause ?? null,
      revision: entry.revision === undefined ? null : `r${entry.revision}`,
      observedRevision: endpoint?.revision ?? null,
      candidate: entry.candidate ?? null,
      region: entry.place.region,
      geography: entry.place.geography ?? null,
      account: entry.place.account,
      ready: endpoint?.ready ?? false,
      health: row?.health ?? 'Unknown',
      protected: row?.protected ?? false,
      url: endpoint?.url ?? null,
      sentence: row?.sentence.text ?? 'It is not there yet.',
    };
  });
}

function shownRevisions({ status }: ObjectRecord): RevisionsAnswer['revisions'] {
  return revisionsIn(status).map(({ name, outcome, at, image, reason }) => ({
    name,
    outcome,
    at,
    image: image ?? null,
    reason: reason ?? null,
  }));
}

export function revisionsAnswer(context: AnswerContext, key: ObjectKey): RevisionsAnswer | Absent {
  const record = context.source.store.record(key);
  if (!record || !seesKey(context.reader, key)) return absent;
  const [, namespace = '', name = ''] = key.split('/');
  return { namespace, name, revisions: shownRevisions(record) };
}
