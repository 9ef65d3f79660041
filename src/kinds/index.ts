export { serviceMarks } from './container-service/marks.ts';
export * from './registry.ts';
export { templateMarks } from './service-template/marks.ts';
export { volumeMarks } from './storage-volume/marks.ts';
