/** What the planner of a template is given. */
import type { wire } from '../../api/index.ts';
import type { DriftBrake, Gates, Observation, Owner, PlannedObject } from '../../engine/plan/index.ts';
import type { ServiceTemplateSpec } from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';

export interface TemplateInputs {
  readonly object: PlannedObject<ServiceTemplateSpec>;
  readonly record: ObjectRecord;
  readonly owner: Owner;
  readonly observation: Observation<wire.Template>;
  /** Built-in ones not counted. */
  readonly templatesInAccount: number;
  readonly gates: Gates;
  readonly driftBrake: DriftBrake;
}
