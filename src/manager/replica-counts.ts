/** How many replicas of ServiceFleets a plan concerns. Pure. */
import type { Change } from './preview.ts';

export interface ReplicaCounts {
  readonly create: number;
  readonly update: number;
  readonly replace: number;
  readonly delete: number;
}

/** Those that are added or leave later, at the pace of the fleet, are counted as well. */
export function replicaCounts(changes: readonly Change[]): { replicas?: ReplicaCounts } {
  const all = changes.map(countsIn);
  const sum = (field: keyof ReplicaCounts) => all.reduce((total, counts) => total + counts[field], 0);
  const replicas = {
    create: sum('create'),
    update: sum('update'),
    replace: sum('replace'),
    delete: sum('delete'),
  };
  return Object.values(replicas).some((count) => count > 0) ? { replicas } : {};
}

function countsIn({ action, differences, replicas = [] }: Change): ReplicaCounts {
  const named = (what: string) => replicas.filter((replica) => replica.action === what).length;
  const count = differences.find(({ path }) => path === 'replicas');
  const more = Number(count?.desired ?? 0) - Number(count?.observed ?? 0);
  const isLeft = action === 'leave';
  return {
    create: count ? Math.max(0, more) : named('create'),
    update: named('update'),
    replace: named('replace'),
    delete: isLeft ? 0 : count ? Math.max(0, -more) : named('delete'),
  };
}
