export * from './definition.ts';
export * from './files.ts';
export type { StructuralSchema } from './structural.ts';
