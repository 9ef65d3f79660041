/** The pass of each kind. */
import { parseObjectKey, type ObjectKey } from '../resources/index.ts';
import { AccountPass } from './account-pass.ts';
import type { KindOptions, KindPass } from './kind-pass.ts';
import type { Absences } from './observe.ts';
import { RegistryPass } from './registry-pass.ts';
import { ServicePass } from './service-pass.ts';
import { TemplatePass } from './template-pass.ts';
import { TaskPass } from './task-pass.ts';
import { VolumePass } from './volume-pass.ts';

export function kindOf(key: ObjectKey, options: KindOptions, absences: Absences): KindPass {
  switch (parseObjectKey(key).kind) {
    case 'Account':
      return new AccountPass(key, options);
    case 'ContainerService':
      return new ServicePass(key, options, absences);
    case 'StorageVolume':
      return new VolumePass(key, options, absences);
    case 'ServiceTemplate':
      return new TemplatePass(key, options, absences);
    case 'ImageRegistry':
      return new RegistryPass(key, options, absences);
    case 'ProtectedTask':
      return new TaskPass(key, options);
  }
}
