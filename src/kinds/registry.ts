/** The kinds. A new one is a folder beside these, and a line here. */
import type { Kinds } from '../engine/index.ts';
import { account } from './account/kind.ts';
import { budget } from './budget/kind.ts';
import { containerService } from './container-service/kind.ts';
import { imageRegistry } from './image-registry/kind.ts';
import { notification } from './notification/kind.ts';
import { protectedTask } from './protected-task/kind.ts';
import { serviceFleet } from './service-fleet/kind.ts';
import { serviceTemplate } from './service-template/kind.ts';
import { storageVolume } from './storage-volume/kind.ts';

export const kinds: Kinds = {
  Account: account,
  ContainerService: containerService,
  ServiceFleet: serviceFleet,
  StorageVolume: storageVolume,
  ServiceTemplate: serviceTemplate,
  ImageRegistry: imageRegistry,
  ProtectedTask: protectedTask,
  Budget: budget,
  Notification: notification,
};
