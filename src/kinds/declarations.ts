/** The declarations of the kinds, in the order in which messages name them. A new kind is a folder beside this file, and a line here and in registry.ts. */
import { account } from './account/declaration.ts';
import { budget } from './budget/declaration.ts';
import { containerService } from './container-service/declaration.ts';
import { imageRegistry } from './image-registry/declaration.ts';
import { notification } from './notification/declaration.ts';
import { protectedTask } from './protected-task/declaration.ts';
import { serviceFleet } from './service-fleet/declaration.ts';
import { serviceTemplate } from './service-template/declaration.ts';
import { storageVolume } from './storage-volume/declaration.ts';

export const declarations = {
  [account.name]: account,
  [containerService.name]: containerService,
  [serviceFleet.name]: serviceFleet,
  [storageVolume.name]: storageVolume,
  [serviceTemplate.name]: serviceTemplate,
  [imageRegistry.name]: imageRegistry,
  [protectedTask.name]: protectedTask,
  [budget.name]: budget,
  [notification.name]: notification,
};
