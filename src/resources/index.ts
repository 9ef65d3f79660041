export * from './conditions.ts';
export * from './keys.ts';
export * from './kinds.ts';
export * from './windows.ts';
export type { ImageRegistrySpec } from './image-registry.ts';
export type { ProtectedTaskSpec } from './protected-task.ts';
export * from './repository.ts';
export { templateMarkLength, type ServiceTemplateSpec, type TemplateValues } from './service-template.ts';
