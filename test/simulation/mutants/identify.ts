/** How services are identified, for mutants that do it in another way. */
import type { wire } from '../../../src/api/index.ts';
import { serviceMarks } from '../../../src/kinds/container-service/marks.ts';
import { kinds } from '../../../src/kinds/index.ts';
import { identify, type RemoteThings } from '../../../src/engine/index.ts';
import type { ContainerServiceSpec } from '../../../src/resources/index.ts';

type Services = RemoteThings<ContainerServiceSpec, wire.Service, unknown>;
export type Identify = NonNullable<Services['identify']>;

/** As they are without a mutant. */
export const byMark: Identify = ({ fleet, record }, items, madeId) =>
  identify(fleet.identity(record, madeId), items, serviceMarks);

export const services = kinds.ContainerService.remote as unknown as { identify: Identify | undefined };
