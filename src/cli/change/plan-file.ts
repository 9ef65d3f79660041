/** `plan --out`: writes a plan as a file that `apply` carries out. */
import { readFileSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { UserError, messageOf, rfc3339, writeAnew } from '../../base/index.ts';
import { environmentKey } from '../../manager/index.ts';
import {
  planFileLimits,
  plannedObjects,
  writtenPlan,
  type HiddenValues,
  type PlanContent,
  type PlannedNow,
  type PlannedObject,
} from '../../plan-file/index.ts';
import { accountKey, accountPlaceOf, type ObjectKey } from '../../resources/index.ts';
import type { StateStore } from '../../state/index.ts';
import type { Context } from '../context.ts';
import { version } from '../version.ts';
import type { ObservedAccount, ObservedFleet } from './fleet-plan.ts';

type Observed = Pick<ObservedFleet, 'results' | 'objects' | 'accounts'>;
type Store = Pick<StateStore, 'record' | 'recordOf'>;

/** The name of the account that an object is in, as it was observed. */
export function accountNameOf(
  {
    objects,
    accounts,
  }: Pick<ObservedFleet, 'objects'> & { readonly accounts: { has(name: string): boolean } },
  store: Store,
  key: ObjectKey,
): string | undefined {
  const spec = objects.get(key)?.spec ?? store.record(key)?.manifest.spec;
  const place = accountPlaceOf(key, spec);
  if ('with' in place) return accountNameOf({ objects, accounts }, store, place.with);
  const known = [store.record(key)?.account, place.account, environmentKey];
  return known.find((name) => name !== undefined && accounts.has(name));
}

export function accountOf(observed: Observed, store: Store, key: ObjectKey): ObservedAccount | undefined {
  return observed.accounts.get(accountNameOf(observed, store, key) ?? '');
}

/** `beforeIds`: of the objects of a file, unless it is made now. */
export function plannedIn(
  observed: Observed,
  store: Store,
  beforeIds: ReadonlyMap<ObjectKey, string | undefined> = new Map(),
): PlannedNow {
  return plannedObjects(observed.results, {
    snapshot: observed,
    store,
    hiddenOf: (key): HiddenValues | undefined => accountOf(observed, store, key)?.hidden,
    beforeIds,
  });
}

export interface PlanFileFlags {
  readonly source: string;
  /** Milliseconds. */
  readonly expires: number;
  readonly allowMassChange?: boolean;
}

export interface MadePlan {
  readonly text: string;
  readonly digest: string;
  /** What they need is not known yet, so they are not in the file. */
  readonly unknown: readonly ObjectKey[];
}

export function planFileOf(
  { clock }: Pick<Context, 'clock'>,
  { source, expires, allowMassChange = false }: PlanFileFlags,
  observed: ObservedFleet,
  store: Store,
): MadePlan {
  const planned = plannedIn(observed, store);
  const objects = [...planned.objects.values()];
  const nowMs = clock.wallMs();
  const content: PlanContent = {
    createdAt: rfc3339(nowMs),
    expiresAt: rfc3339(nowMs + expires),
    fleetkeeper: version,
    source,
    accounts: accountsOf(observed, store, objects),
    objects,
    allow: { massChange: allowMassChange },
    summary: asJson(observed.plan.summary),
    cost: asJson(observed.plan.cost),
  };
  return { ...writtenPlan(content), unknown: planned.unknown };
}

function accountsOf(
  observed: Observed,
  store: Store,
  objects: readonly PlannedObject[],
): PlanContent['accounts'] {
  const names = new Set(objects.flatMap(({ key }) => accountNameOf(observed, store, key) ?? []));
  return [...names].sort().map((name) => {
    const { identityId = null, hidden } = observed.accounts.get(name) ?? {};
    const account = { key: accountKey(name), identityId };
    return hidden?.check === undefined ? account : Object.assign(account, { keyCheck: hidden.check });
  });
}

function asJson(value: object): PlanContent['summary'] {
  return JSON.parse(JSON.stringify(value)) as PlanContent['summary'];
}

/** As a whole or not at all, and for nobody else to read. A link stays, and what it leads to is replaced. */
export function writePlanFile(named: string, text: string, pid: number): void {
  const file = writableFile(named);
  const draft = `${file}.${pid}.tmp`;
  try {
    writeAnew(draft, text, 0o600);
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw new UserError(`can't write the plan file ${file}: ${messageOf(error)}`, 'check --out', error);
  }
}

/** A device, such as /dev/null, would be replaced by a file. */
function writableFile(named: string): string {
  const found = statSync(named, { throwIfNoEntry: false });
  if (found && !found.isFile())
    throw new UserError(
      `can't write the plan file ${named}: it is no plain file`,
      'name a file with --out; `plan -o json` prints the plan',
    );
  return found ? realpathSync(named) : named;
}

export function readPlanText(file: string): string {
  try {
    const { size } = statSync(file);
    if (size > planFileLimits.bytes) {
      throw new UserError(
        `${file} has ${size} bytes, and a plan file at most ${planFileLimits.bytes}`,
        'name the file that `plan --out` has written',
      );
    }
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(`can't read the plan file ${file}: ${messageOf(error)}`, 'check the path', error);
  }
}
