/**
 * `fleetkeeper.yaml`: flags for the command line (`cli/flags/settings.ts`). It may be in the folder of a fleet, and is no
 * document of it. A file of documents may have the name, too, so its content decides.
 */
import path from 'node:path';
import { isPlainMap, type YamlFile } from './yaml.ts';

export const settingsFileName = 'fleetkeeper.yaml';

/** Something in it is a document of a fleet, or is meant to be one. */
export function holdsDocuments({ documents }: YamlFile): boolean {
  return documents.some(
    ({ value }) => isPlainMap(value) && (Object.hasOwn(value, 'kind') || Object.hasOwn(value, 'apiVersion')),
  );
}

/** Text that is not YAML may be either. */
export function isSettingsFile(file: string, yaml: YamlFile): boolean {
  if (path.posix.basename(file) !== settingsFileName || yaml.refused) return false;
  return !yaml.documents.some(({ broken }) => broken) && !holdsDocuments(yaml);
}
