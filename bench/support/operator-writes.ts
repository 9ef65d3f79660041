/** What an operator writes to Kubernetes: while services are created, while nothing happens, and for edits (B8). */
import { setTimeout as delay } from 'node:timers/promises';
import type { Asked } from './asked.ts';
import type { OperatorWorld, PlaneAsked, Usage } from './operator-world.ts';
import { median, shown, type Row } from './report.ts';

/** Writes that follow what was done; Events are told some time later. */
const settleMs = 10_000;

export interface WritesWorkload {
  readonly services: number;
  readonly edits: number;
  readonly polls: number;
  readonly pollSeconds: number;
}

interface Phase {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly kubernetes: Asked;
  readonly plane: PlaneAsked;
}

export interface Writes {
  readonly creates: Phase;
  readonly quiet: Phase;
  /** Edits that need no restart, and edits that do. */
  readonly light: Phase;
  readonly heavy: Phase;
  readonly peakBytes: number;
}

/** `main`: what is run as the operator. It is stopped in the end. */
export async function measureWrites(
  world: OperatorWorld,
  { edits, polls, pollSeconds }: WritesWorkload,
  main: string | undefined,
): Promise<Writes> {
  await world.asked();
  const operator = await world.startOperator(main);
  const usage = () => operator.usage();
  const phase = (work: () => Promise<unknown>) =>
    measurePhase(world, usage, () => Promise.race([work(), operator.failed]));
  const edit = (spec: object) => async () => {
    await world.edit(edits, spec);
    await world.whenReady();
  };
  const creates = await phase(() => world.whenReady());
  const quiet = await phase(() => delay(polls * pollSeconds * 1000));
  const light = await phase(edit({ sleepAfterMinutes: 1440 }));
  const heavy = await phase(edit({ image: 'ghcr.io/acme/trainer:1.5' }));
  const { peakBytes } = await usage();
  await operator.stop();
  return { creates, quiet, light, heavy, peakBytes };
}

async function measurePhase(
  world: OperatorWorld,
  usage: () => Promise<Usage>,
  work: () => Promise<unknown>,
): Promise<Phase> {
  await Promise.all([world.asked(), world.planeAsked()]);
  const before = await usage();
  await work();
  const after = await usage();
  await delay(settleMs);
  return {
    seconds: after.seconds - before.seconds,
    cpuSeconds: after.cpuSeconds - before.cpuSeconds,
    kubernetes: await world.asked(),
    plane: await world.planeAsked(),
  };
}

export function rowsOfWrites({ services, edits, polls }: WritesWorkload, measured: readonly Writes[]): Row[] {
  const over = (name: 'creates' | 'quiet' | 'light' | 'heavy') => measured.map((writes) => writes[name]);
  const quiet = over('quiet');
  return [
    ...rowsOfPhase('creates', services, over('creates'), { limit: 3, target: 3.2 }),
    {
      what: `${polls} quiet polls: writes`,
      values: quiet.map(writesOf),
      unit: '',
      isCount: true,
      limit: 0,
      target: { atMost: 0 },
      beside: `${asides(quiet)}; ${shown((median(quiet.map(({ cpuSeconds }) => cpuSeconds)) / polls) * 1000)} ms of CPU for a poll`,
    },
    ...rowsOfPhase('edits', edits, over('light'), { limit: 2, target: 2.1 }),
    ...rowsOfPhase('edits that restart', edits, over('heavy'), { limit: 2, target: 2.1 }),
    {
      what: 'memory through all of this, at most',
      values: measured.map(({ peakBytes }) => peakBytes / 1e6),
      unit: 'MB',
    },
  ];
}

function rowsOfPhase(
  what: string,
  count: number,
  phases: readonly Phase[],
  { limit, target }: { readonly limit: number; readonly target: number },
): Row[] {
  const ofOne = (value: (phase: Phase) => number) => shown(median(phases.map(value)) / count);
  const status = ofOne(({ kubernetes }) => kubernetes.statusWrites);
  const finalizers = ofOne(({ kubernetes }) => kubernetes.finalizerWrites);
  return [
    {
      what: `${what}: writes for one`,
      values: phases.map((phase) => writesOf(phase) / count),
      unit: '',
      isCount: true,
      limit,
      target: { atMost: target },
      beside: `${status} of status, ${finalizers} of finalizers; beside these ${asides(phases)}`,
    },
    {
      what: `${what}: a second`,
      values: phases.map(({ seconds }) => count / seconds),
      unit: '/s',
      beside: `${ofOne(({ cpuSeconds }) => cpuSeconds * 1000)} ms of CPU and ${ofOne(({ plane }) => plane.reads + plane.mutations)} requests to the control plane for one`,
    },
  ];
}

function writesOf({ kubernetes }: Phase): number {
  return kubernetes.statusWrites + kubernetes.finalizerWrites;
}

function asides(phases: readonly Phase[]): string {
  const middle = (name: 'accountWrites' | 'eventWrites' | 'otherWrites' | 'conflicts') =>
    shown(median(phases.map(({ kubernetes }) => kubernetes[name])));
  return `${middle('accountWrites')} of the Account, ${middle('eventWrites')} Events, ${middle('otherWrites')} others, ${middle('conflicts')} conflicts`;
}
