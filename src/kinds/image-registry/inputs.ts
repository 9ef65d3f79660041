/** What the planner of a registry is given. */
import type { wire } from '../../api/index.ts';
import type {
  DesiredCredentials,
  DriftBrake,
  Gates,
  Observation,
  Owner,
  PlannedObject,
} from '../../engine/plan/index.ts';
import type { ImageRegistrySpec } from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';

export interface LinkedService {
  readonly id: string;
  readonly name: string | undefined;
  readonly state: string | undefined;
  /** Those that its latest launch captured. */
  readonly credentials: 'Current' | 'Outdated' | 'Unknown';
}

export interface RegistryInputs {
  readonly object: PlannedObject<ImageRegistrySpec>;
  readonly record: ObjectRecord;
  readonly owner: Owner;
  readonly observation: Observation<wire.Registry>;
  readonly credentials: DesiredCredentials;
  readonly linked: readonly LinkedService[];
  readonly registriesInAccount: number;
  readonly gates: Gates;
  readonly driftBrake: DriftBrake;
  /** Unix milliseconds. */
  readonly nowMs: number;
}
