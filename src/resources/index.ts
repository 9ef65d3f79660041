export * from './keys.ts';
export { kindCalled, kindNames } from './kind-names.ts';
export * from './kinds.ts';
export * from './traits.ts';
export { valueLimits } from './value-limits.ts';
export * from './parts/budget.ts';
export * from './parts/commands.ts';
export * from './parts/conditions.ts';
export type { DataReference } from './parts/declaration.ts';
export type { OwnerGate } from './parts/derived.ts';
export {
  editorKeyword,
  implication,
  rulesKeyword,
  type CelRule,
  type JsonSchema,
} from './parts/constraints.ts';
export { objectName } from './parts/fields.ts';
export * from './parts/names.ts';
export type * from './parts/notification.ts';
export * from './parts/origins.ts';
export * from './parts/repository.ts';
export { storable } from './parts/tally.ts';
export * from './parts/windows.ts';
export { credentialsHeaderProblem } from '../kinds/account/schema-header.ts';
export type { DeclaredPrice } from '../kinds/account/schema-prices.ts';
export {
  baseAddressProblem,
  isLoopback,
  longestPollSeconds,
  type AccountSpec,
} from '../kinds/account/schema.ts';
export { beaconPrefix, type ContainerServiceSpec } from '../kinds/container-service/schema.ts';
export type { AccountState, ShownMoney } from '../kinds/account/state.ts';
export type { ServiceState } from '../kinds/container-service/state.ts';
export type { Registration, TaskState } from '../kinds/protected-task/state.ts';
export type { ImageRegistrySpec } from '../kinds/image-registry/schema.ts';
export type { ProtectedTaskSpec } from '../kinds/protected-task/schema.ts';
export {
  templateMarkLength,
  type ServiceTemplateSpec,
  type TemplateValues,
} from '../kinds/service-template/schema.ts';
export { volumeMarkLength, type StorageVolumeSpec } from '../kinds/storage-volume/schema.ts';
