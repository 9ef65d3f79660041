/**
 * Labels and annotations that the template gives to each replica. Names of `fleetkeeper.dev/` are the fleet's: a replica gets none
 * of them from the template, except those that are meant for many objects. A confirmation, an operator command or a resolution is
 * for one object that a person has checked.
 */
import { holdFor, type Plan } from '../../engine/plan/index.ts';
import { annotations, group } from '../../resources/index.ts';
import type { ServiceFleetSpec } from './schema.ts';

const forAll: ReadonlySet<string> = new Set([
  annotations.paused,
  annotations.reconcileAt,
  annotations.acceptDriftUntil,
  annotations.acceptRevisionsUntil,
  annotations.acceptBookkeepingUntil,
  annotations.leaveFields,
  annotations.shedPriority,
  annotations.allowOverspendUntil,
  annotations.exemptFromSheddingUntil,
]);

type Texts = Readonly<Record<string, string>>;
type Template = Pick<ServiceFleetSpec['template'], 'metadata'>;

const isRefused = (name: string, allowed: ReadonlySet<string>) =>
  name.startsWith(`${group}/`) && !allowed.has(name);

export function annotationsFrom({ metadata }: Template): Texts {
  return without(metadata.annotations, forAll);
}

export function labelsFrom({ metadata }: Template): Texts {
  return without(metadata.labels, new Set());
}

function without(texts: Texts, allowed: ReadonlySet<string>): Texts {
  return Object.fromEntries(Object.entries(texts).filter(([name]) => !isRefused(name, allowed)));
}

export function refusedNames({ metadata }: Template): Plan | undefined {
  const annotation = Object.keys(metadata.annotations).find((name) => isRefused(name, forAll));
  if (annotation !== undefined) {
    return refused('annotations', annotation, 'no template gives it to all replicas; remove it');
  }
  const label = Object.keys(metadata.labels).find((name) => isRefused(name, new Set()));
  return label === undefined
    ? undefined
    : refused('labels', label, 'the fleet itself gives such labels to its replicas; remove it');
}

function refused(field: 'annotations' | 'labels', name: string, message: string): Plan {
  return holdFor('InvalidAnnotation', message, { path: ['spec', 'template', 'metadata', field, name] });
}
