import type { Sensitive } from '../base/index.ts';

/** §5.2: `Authorization: Bearer KEY`; in any other header the key as it is. */
export function credentialHeader(
  credential: Sensitive<string>,
  name = 'authorization',
): Record<string, string> {
  const header = name.toLowerCase();
  return { [header]: header === 'authorization' ? `Bearer ${credential.reveal()}` : credential.reveal() };
}
