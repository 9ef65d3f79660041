/** ServiceFleet: stands for nothing at the provider. It owns ContainerServices, by its roster. */
import { waitFor, type Arrange, type Cost, type Plan } from '../../engine/plan/index.ts';
import { defineKind } from '../../engine/index.ts';
import { entryOf } from '../../reasons/index.ts';
import { templateOutdated } from '../container-service/status.ts';
import { awaitedDefaults } from '../container-service/template.ts';
import { askedByFleet } from './asking.ts';
import { ownedBy } from './children.ts';
import { fleetCommand } from './commands.ts';
import { everyOwned } from './found.ts';
import { fleetLook, type FleetLook } from './look.ts';
import type { Measured } from './inputs.ts';
import { observeFleet } from './measurements.ts';
import { planFleet } from './plan.ts';
import { losesData, plannedReplicas } from './planned-replicas.ts';
import { previewFleet } from './preview.ts';
import { rosterPlan } from './roster-plan.ts';
import { scaleCost } from './scale-cost.ts';
import { shedFleet } from './shedding.ts';
import type { ServiceFleetSpec } from './schema.ts';
import type { FleetState } from './state.ts';
import { availability, fleetHealth, observedFleet, rolledBack } from './status.ts';

function plan(look: FleetLook): Plan {
  if (look.unread) return look.unread;
  if (!look.isPreview) return planFleet(look);
  const shown = previewFleet(look);
  const awaited = awaitedDefaults(look.template);
  if (awaited === undefined || look.object.deleting || shown.kind === 'hold') return shown;
  const isUnseen = shown.kind === 'wait' && entryOf(shown.reason).observed !== 'yes';
  const isChange = shown.kind === 'arrange' && (shown.change ?? shown.recalls) !== undefined;
  return isUnseen || isChange ? shown : waitFor('TemplateNotReady', awaited);
}

/** Nobody knows what replicas cost that follow their template. */
function costOf(look: FleetLook, step: Arrange): Cost | undefined {
  const cost = scaleCost(look, step);
  if (awaitedDefaults(look.template) === undefined || look.object.deleting) return cost;
  return { beforeMicros: 0n, afterMicros: 0n, unknown: [], ...cost, basis: 'unknown' };
}

export const serviceFleet = defineKind<ServiceFleetSpec, never, FleetLook, Measured, FleetState>({
  name: 'ServiceFleet',
  children: (owner) => owner.state.roster && ownedBy(owner),
  mayOwn: everyOwned,
  asks: askedByFleet,
  command: fleetCommand,
  released: ({ record: { deletionRequestedAt, kind } }) =>
    deletionRequestedAt !== undefined && kind.roster?.length === 0 && (kind.volumes ?? []).length === 0,
  shed: shedFleet,
  observe: observeFleet,
  look: fleetLook,
  plan,
  previewed: (look, step) => {
    const owned = plannedReplicas(look, step);
    return {
      cost: costOf(look, step),
      owned,
      ...(losesData(look, owned, step) ? { destroysData: true } : {}),
    };
  },
  roster: rosterPlan,
  status: (look) => ({
    health: fleetHealth(look),
    observed: observedFleet(look),
    revision: undefined,
    more: [availability(look), ...rolledBack(look), ...templateOutdated(look.template)],
  }),
});
