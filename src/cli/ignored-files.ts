/** The `.gitignore` of a folder of documents. `more`: names of files beside the state. */
export function ignoreText(more: readonly string[] = []): string {
  return ['# The state of the fleet, and keys.', '.fleetkeeper/', ...more, ''].join('\n');
}
