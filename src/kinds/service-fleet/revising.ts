/** Which revision the document requires (revisions.ts), and which one each replica has. */
import { holdFor, type Hold } from '../../engine/plan/index.ts';
import type { OwnerRevision } from '../../state/index.ts';
import { inPhase, type FleetInputs } from './inputs.ts';
import { addedForNow } from './number-shown.ts';
import { contentAt, type Replica } from './replica.ts';
import { rolloutTo, stoppedRollout } from './rollout.ts';
import { isTakenAnew, takenWith } from './template.ts';
import { hasContent, kept, largestRevisionBytes, nextNumber, withOutcome } from './revisions.ts';

/** With the revision of the document, and with those of replicas that are compared by now. Not saved yet. */
export function revised(inputs: FleetInputs): FleetInputs | Hold {
  const { present, update } = inputs;
  if (update && hasContent(update, present)) return compared(remembering(inputs, update), update);
  const bytes = Buffer.byteLength(JSON.stringify(present.content));
  if (bytes > largestRevisionBytes) {
    const message = `what reaches the replicas one after the other has ${bytes} bytes; at most ${largestRevisionBytes} are kept of a revision`;
    return holdFor('InvalidSpec', message, { path: ['spec', 'template', 'spec'] });
  }
  return begun(inputs);
}

/** What the document takes of its template is what the revision has already. */
function remembering(inputs: FleetInputs, { number }: OwnerRevision): FleetInputs {
  const { state, ofTemplate, healthy } = inputs;
  if (!isTakenAnew(state, ofTemplate, number)) return inputs;
  const remembered = takenWith(state, ofTemplate, { number, healthy: healthy?.number });
  return { ...inputs, state: { ...state, ...remembered }, isUnsaved: true };
}

function isKnown({ revision, isAsDocument }: Replica): boolean {
  return revision !== undefined || !isAsDocument;
}

/** A replica of which nobody knew what it has was observed to be as the document requires. */
function compared(inputs: FleetInputs, update: OwnerRevision): FleetInputs {
  if (inputs.replicas.every(isKnown)) return inputs;
  const replicas = inputs.replicas.map((replica) =>
    isKnown(replica) ? replica : withRevision(replica, update),
  );
  const roster = replicas.map(({ entry }) => entry);
  return { ...inputs, replicas, state: { ...inputs.state, roster }, isUnsaved: true };
}

function withRevision(replica: Replica, revision: OwnerRevision): Replica {
  const { granted: _earlier, ...entry } = replica.entry;
  const next = { ...replica, entry: { ...entry, revision: revision.number }, revision };
  return { ...next, content: contentAt(next, revision) };
}

/** What the newest Healthy one, or a failed one, has: nothing new is made of it. */
function known({ revisions, healthy, present }: FleetInputs): OwnerRevision | undefined {
  if (healthy && hasContent(healthy, present)) return healthy;
  return revisions.findLast((revision) => revision.outcome === 'Failed' && hasContent(revision, present));
}

function begun(inputs: FleetInputs): FleetInputs {
  const { present, update, healthy, nowMs, wanted, object, state } = inputs;
  const isUnderWay = update?.outcome === 'New' || update?.outcome === 'RollingOut';
  const before = withOutcome(inputs.revisions, isUnderWay ? update.number : undefined, 'Superseded', nowMs);
  const running = inPhase(inputs.replicas, 'wanted');
  // What was in order before there were revisions is so now.
  const isAdopted = !update && running.length > 0 && running.every(({ isAsDocument }) => isAsDocument);
  const outcome = isAdopted ? 'Healthy' : wanted.count === 0 ? 'New' : 'RollingOut';
  const again = known(inputs);
  const number = nextNumber(before, state.roster, state.update);
  const target = again ?? { ...present, number, outcome, at: nowMs };
  const all = again ? before : [...before, target];
  const inUse = new Set([
    target.number,
    ...inputs.replicas.flatMap(({ revision }) => revision?.number ?? []),
  ]);
  const revisions = kept(all, inUse, object.spec.update.revisionHistoryLimit + 1);
  const aim = again?.outcome === 'Failed' ? (healthy ?? again) : target;
  const replicas = inputs.replicas.map((replica) => ({ ...replica, content: contentAt(replica, aim) }));
  const first =
    again?.outcome === 'Failed'
      ? stoppedRollout(inputs, again)
      : running.length === 0 && !again
        ? rolloutTo(target.number, nowMs, 0)
        : undefined;
  const remembered = takenWith(state, inputs.ofTemplate, { number: target.number, healthy: healthy?.number });
  const next: FleetInputs = {
    ...inputs,
    state: { ...state, update: target.number, rollout: first, ...remembered },
    revisions,
    newRevisions: revisions,
    update: target,
    target: aim,
    replicas,
    addedBefore: addedForNow(inputs),
    isUnsaved: true,
  };
  return again?.outcome === 'Failed' ? next : compared(next, target);
}
