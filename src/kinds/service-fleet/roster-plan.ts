/**
 * What the roster leads to, counted by what is at the provider. So the numbers only fall while a plan is carried out, also when
 * another process continues. Pure.
 */
import type { Arrange, Plan, RosterContent, RosterMoves, RosterPlan } from '../../engine/plan/index.ts';
import type { OwnerRevision } from '../../state/index.ts';
import { awaitedDefaults } from '../container-service/template.ts';
import { wantedReplicas } from './counts.ts';
import { inPhase } from './inputs.ts';
import type { FleetLook } from './look.ts';
import { comingRepairs } from './repair.ts';
import { revised } from './revising.ts';
import { revisionOf } from './revisions.ts';
import { childName } from './roster.ts';
import type { FleetState, RosterEntry } from './state.ts';

/** Undefined: the roster is not known, or no revision can be made of the document. */
export function rosterPlan(look: FleetLook, plan: Plan): RosterPlan | undefined {
  const { object, replicas, nowMs, present } = look;
  if (look.unread || (look.problem && !object.deleting)) return undefined;
  // A field is taken out of its template: what the replicas get is known only when that is done.
  if (awaitedDefaults(look.template) !== undefined && !object.deleting) return undefined;
  const inputs = object.deleting ? look : revised(look);
  if ('kind' in inputs) return undefined;
  const arranged = plan.kind === 'arrange' ? plan : undefined;
  const { scaled }: FleetState = arranged?.state ?? look.state;
  // A command may have changed the number. What a budget allows limits it all the same.
  const most = look.shed?.replicas;
  const goal = object.deleting ? 0 : wantedReplicas(object.spec, nowMs, scaled, most).count;
  const { target, healthy } = inputs;
  const content = contentOf(look, target);
  const made = replicas.filter(({ isMade }) => isMade);
  const wanted = inPhase(made, 'wanted');
  const isPresent = content.id === present.digest;
  const differing = wanted.filter((replica) => {
    const { entry, revision, reportsDifference, isAsDocument, isMisplaced } = replica;
    const isMadeSo = entry.revision === target?.number && entry.updated === undefined;
    const differs = isPresent ? !isAsDocument : replica.content !== 'updated';
    const isKnown = revision !== undefined || reportsDifference;
    return isMisplaced || (isKnown && differs && !isMadeSo);
  });
  const repaired = object.deleting ? [] : comingRepairs(inputs);
  const counts = {
    repair: repaired.filter((replica) => !differing.includes(replica)).length,
    add: Math.max(0, goal - wanted.length),
    update: Math.min(goal, differing.length),
    drain: Math.max(0, made.length - Math.min(wanted.length, goal)),
  };
  // What replicas that were found again have is not known, so nobody can say that nothing is to be done.
  if (look.isFound && Object.values(counts).every((count) => count === 0)) return undefined;
  return {
    replicas: goal,
    content,
    fallback: healthy && healthy.digest !== content.id ? contentOf(look, healthy) : undefined,
    ...counts,
    leaves: object.deleting && object.spec.deletionPolicy === 'Retain',
    // One that is out of date changes nothing.
    command: arranged?.handled?.result === 'Done' ? arranged.handled.command : undefined,
    moves: movesOf(look, arranged),
  };
}

function contentOf(
  { present, presentValues }: FleetLook,
  revision: OwnerRevision | undefined,
): RosterContent {
  if (revision === undefined || revision.digest === present.digest) {
    return { id: present.digest, content: present.content, values: presentValues };
  }
  return { id: revision.digest, content: revision.content, values: undefined };
}

/** `arranged`: the change of the roster that comes next. */
function movesOf(look: FleetLook, arranged: Arrange | undefined): RosterMoves {
  const { roster = [] }: FleetState = arranged?.state ?? look.state;
  const revisions = arranged?.revisions ?? look.revisions;
  const before = new Map(look.replicas.map((replica) => [replica.entry.slot, replica]));
  const contentAt = ({ revision }: RosterEntry) => contentOf(look, revisionOf(revisions, revision));
  return {
    wanted: roster.filter(({ phase }) => phase === 'wanted').length,
    added: roster.filter(({ slot }) => !before.has(slot)).map(contentAt),
    updated: roster.flatMap((entry) => {
      const known = before.get(entry.slot)?.entry;
      return known && isGranted(known, entry) ? [contentAt(entry)] : [];
    }),
    corrected: roster.flatMap(({ slot, corrects }) => {
      const known = before.get(slot);
      return known && corrects !== undefined && known.entry.corrects === undefined
        ? [childName(look.name, slot)]
        : [];
    }),
    leaving: roster.flatMap(({ slot, phase, cause }) => {
      const replica = before.get(slot);
      if (replica?.entry.phase !== 'wanted' || phase === 'wanted') return [];
      const isLeft = arranged?.change === 'leave';
      return [{ cause: isLeft ? ('left' as const) : (cause ?? 'rollout'), unmade: !replica.isMade }];
    }),
  };
}

/** It gets another revision. One that was only found to have it does not. */
function isGranted(before: RosterEntry, after: RosterEntry): boolean {
  if (after.phase !== 'wanted' || after.revision === before.revision) return false;
  return before.revision !== undefined || after.updated !== before.updated;
}
