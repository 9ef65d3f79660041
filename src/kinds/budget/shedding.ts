/** What the status of a Budget with `mode: Shed` shows of what is stopped for it. Pure. */
import { rfc3339 } from '../../base/index.ts';
import { holdFor, type Plan, type SheddingPlan } from '../../engine/plan/index.ts';
import type { Statement } from '../../engine/status/index.ts';
import type { ReasonOf } from '../../reasons/index.ts';
import {
  parseObjectKey,
  type ConditionType,
  type ObjectKey,
  type StoredShedding,
} from '../../resources/index.ts';
import type { BudgetLook } from './kind.ts';
import type { BudgetState } from './state.ts';

const mostShown = 50;
const mostListed = 20;
const assumed =
  'monthlyMicros is passed only with time that nobody observed (estimatedMicros); that stops nothing';

const left =
  'a limit is passed; this process stops nothing for that, because it ends soon. A manager that lasts (`fleetkeeper run`) does';

export function observedShedding(shedding: SheddingPlan | undefined): Record<string, unknown> {
  const orders = shedding?.state.orders ?? [];
  if (orders.length === 0) return {};
  const shown = orders.slice(0, mostShown);
  return {
    shedObjects: orders.length,
    shedding: shown.map(({ object, since }) => ({ object: nameOf(object), since: rfc3339(since) })),
  };
}

function nameOf(object: string): string {
  const { kind, name } = parseObjectKey(object as ObjectKey);
  return `${kind} ${name}`;
}

export function sheddingCondition({
  shedding,
}: Pick<BudgetLook, 'shedding'>): (readonly [ConditionType, Statement])[] {
  if (!shedding) return [];
  const { phase, isBlocked, dueAt, state } = shedding;
  const last = state.orders.at(-1);
  const shed = state.orders.length > 0;
  const statement = (
    reason: Statement['reason'],
    message: string,
  ): (readonly [ConditionType, Statement])[] => [
    ['Shedding', { status: shed || reason === 'Shedding' ? 'True' : 'False', reason, message }],
  ];
  switch (phase) {
    case 'Within':
      return statement('NothingShed', shedding.isAssumed ? assumed : shedding.isLeft ? left : '');
    case 'Exceeded': {
      const at = dueAt === undefined ? '' : `at ${rfc3339(dueAt)}: `;
      return statement('SheddingSoon', `${at}${listText(shedding)}`);
    }
    case 'Shedding':
      return statement(
        'Shedding',
        isBlocked ? 'nothing is left that may be stopped' : `next: ${listText(shedding)}`,
      );
    case 'Resuming': {
      const when =
        dueAt === undefined
          ? 'when there is room for it'
          : `at ${rfc3339(dueAt)} if there is room until then`;
      return statement('Resuming', last ? `${nameOf(last.object)} comes back ${when}` : '');
    }
  }
}

/** With another mode, nothing is remembered: what was stopped is let go. */
export function sheddingState({
  shedding,
  view,
  record,
}: Pick<BudgetLook, 'shedding' | 'view' | 'record'>): Pick<BudgetState, 'shedding'> {
  if (shedding) return { shedding: isNothing(shedding.state) ? undefined : shedding.state };
  return view && view.terms.mode !== 'Shed' ? { shedding: undefined } : { shedding: record.kind.shedding };
}

function isNothing({ exceededSince, orders, ended, spared, returning }: StoredShedding): boolean {
  const lists = orders.length + ended.length + spared.length;
  return exceededSince === undefined && returning === undefined && lists === 0;
}

/** Announced once, as the period of grace begins. */
export function sheddingNews({ shedding, view }: Pick<BudgetLook, 'shedding' | 'view'>): {
  readonly reason: ReasonOf<'event'>;
  readonly message: string;
}[] {
  if (!shedding?.isNew || !view) return [];
  const message = `Shedding in ${view.terms.shed.graceMinutes} min: ${listText(shedding)}`;
  return [{ reason: 'SheddingSoon', message }];
}

export function blockedShedding({ shedding }: Pick<BudgetLook, 'shedding'>): Plan | undefined {
  if (!shedding?.isBlocked) return undefined;
  const message = `a limit is passed, and nothing is left that may be stopped: ${keptText(shedding)}`;
  const { againAfterMs: recheckAfterMs } = shedding;
  return { ...holdFor('ShedBlocked', message, { path: ['spec', 'limits'] }), recheckAfterMs };
}

/** `ServiceFleet a (4 to 2 replicas), ContainerService b` */
function listText(shedding: SheddingPlan): string {
  const { list, isNotEnough } = shedding;
  const names = list.map(({ text, replicas }) =>
    replicas ? `${text} (${replicas.wanted} to ${replicas.least} replicas)` : text,
  );
  const all = names.length === 0 ? 'nothing may be stopped' : shortened(names, ', ');
  return isNotEnough ? `${all}; a limit stays passed with that, by ${keptText(shedding)}` : all;
}

function keptText({ kept }: SheddingPlan): string {
  const rest = 'volumes, and what is not managed';
  return kept.length === 0
    ? rest
    : shortened(
        kept.map(({ text, obstacle }) => `${text} (${obstacle})`),
        ', ',
      );
}

function shortened(names: readonly string[], separator: string): string {
  const more = names.length - mostListed;
  return names.slice(0, mostListed).join(separator) + (more > 0 ? ` and ${more} more` : '');
}
