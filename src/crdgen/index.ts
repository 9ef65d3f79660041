export * from './definition.ts';
export * from './field-text.ts';
export * from './files.ts';
export type { StructuralSchema } from './structural.ts';
