/** Fields that a service keeps when they are removed from its document, and what the author can do instead. */
export const remedies: Readonly<Record<string, string>> = {
  httpPort: 'restore it, or set `replacement: Recreate` to have the service created anew without it',
  command:
    'restore it, write `command: []`, or set `replacement: Recreate` to have the service created anew without it',
  sleepAfterMinutes: 'restore it, or write 0 for a service that never sleeps',
  env: 'restore it, or write `env: []` for an empty environment',
};

export const leavableFields: readonly string[] = Object.keys(remedies);
