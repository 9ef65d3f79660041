/**
 * The documents that people write: our kinds (group `fleetkeeper.dev`) and the two core kinds that they
 * refer to. Our kinds are strict: an unknown field is an error with its path. Defaults are filled in here,
 * so that the rest of the engine never asks twice.
 */
import { z } from 'zod';
import { account, type AccountSpec } from './account.ts';
import { containerService, type ContainerServiceSpec } from './container-service.ts';
import { objectName } from './fields.ts';
import { imageRegistry, type ImageRegistrySpec } from './image-registry.ts';
import { protectedTask, type ProtectedTaskSpec } from './protected-task.ts';
import { serviceTemplate, type ServiceTemplateSpec } from './service-template.ts';
import { storageVolume, type StorageVolumeSpec } from './storage-volume.ts';

export const documents = {
  Account: account,
  ContainerService: containerService,
  StorageVolume: storageVolume,
  ServiceTemplate: serviceTemplate,
  ImageRegistry: imageRegistry,
  ProtectedTask: protectedTask,
} as const;

export interface Specs {
  Account: AccountSpec;
  ContainerService: ContainerServiceSpec;
  StorageVolume: StorageVolumeSpec;
  ServiceTemplate: ServiceTemplateSpec;
  ImageRegistry: ImageRegistrySpec;
  ProtectedTask: ProtectedTaskSpec;
}

const nameFields = {
  ContainerService: 'serviceName',
  StorageVolume: 'volumeName',
  ServiceTemplate: 'templateName',
  ProtectedTask: 'taskName',
} as const;

/** The name under which an object is created at the provider, without any mark. */
export function remoteName(kind: keyof typeof nameFields, name: string, spec: object): string {
  const value = (spec as Record<string, unknown>)[nameFields[kind]];
  return typeof value === 'string' ? value : name;
}

// ---- core kinds --------------------------------------------------------------------------------------

const coreMetadata = z.looseObject({
  name: objectName,
  namespace: objectName.default('default'),
  annotations: z.record(z.string(), z.unknown()).nullish(),
});
const text = z.string({ error: 'must be a string; quote numbers and booleans' });

export const secretDocument = z.looseObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('Secret'),
  metadata: coreMetadata,
  data: z.record(z.string(), z.base64('must be base64; plain text belongs under stringData')).nullish(),
  stringData: z.record(z.string(), text).nullish(),
});

export const configMapDocument = z.looseObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('ConfigMap'),
  metadata: coreMetadata,
  data: z.record(z.string(), text).nullish(),
});
