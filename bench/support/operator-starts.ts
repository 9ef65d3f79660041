/** What a cold start of the operator costs, and that it writes nothing where all is as declared. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Asked } from './asked.ts';
import type { OperatorWorld, PlaneAsked, Usage } from './operator-world.ts';
import type { Row } from './report.ts';

/** Events are told some time later. */
const settleMs = 10_000;

export interface ColdStart {
  readonly observed: Usage;
  readonly settled: Usage;
  readonly kubernetes: Asked;
  readonly plane: PlaneAsked;
}

/** Ends when every service has had a pass, and no key waits for one. Memory is the most that the process ever had, ten seconds later. */
export async function coldStart(
  world: OperatorWorld,
  { main, services }: { readonly main: string; readonly services: number },
): Promise<ColdStart> {
  await Promise.all([world.asked(), world.planeAsked()]);
  const operator = await world.startOperator(main);
  const observed = await operator.whenObserved(services);
  await delay(settleMs);
  const settled = await operator.usage();
  const [kubernetes, plane] = await Promise.all([world.asked(), world.planeAsked()]);
  await operator.stop();
  return { observed, settled, kubernetes, plane };
}

/** Targets are those of 5,000 services. */
export function rowsOfColdStarts(main: string, starts: readonly ColdStart[]): Row[] {
  const over = (value: (one: ColdStart) => number) => starts.map(value);
  const [first] = starts;
  return [
    {
      what: `cold start of ${main}: until all are looked at`,
      values: over(({ observed }) => observed.seconds),
      unit: 's',
      isOfMachine: true,
      target: { atMost: 20 },
    },
    { what: '  CPU', values: over(({ observed }) => observed.cpuSeconds), unit: 's', isOfMachine: true },
    {
      what: '  memory, at most',
      values: over(({ settled }) => settled.peakBytes / 1e6),
      unit: 'MB',
      target: { atMost: 400 },
    },
    {
      what: '  writes',
      values: over(({ kubernetes }) => kubernetes.statusWrites + kubernetes.finalizerWrites),
      unit: '',
      isCount: true,
      target: { atMost: 0 },
      beside: `${first?.kubernetes.accountWrites} of the Account, ${first?.kubernetes.eventWrites} Events; ${first?.plane.reads} reads and ${first?.plane.mutations} mutations at the control plane`,
    },
  ];
}
