/** What the provider writes about a replica that can't run its revision. Once it is rolled back, nothing else shows that. */
import type { wire } from '../../api/index.ts';
import { providerText } from '../../engine/plan/index.ts';
import { parseObjectKey } from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';
import type { FleetView } from './look.ts';
import type { PresentContent } from './revisions.ts';

const longest = 200;

export function faultText(
  fault: string,
  service: wire.Service | undefined,
  record: ObjectRecord | undefined,
  secrets: () => readonly string[],
): string | undefined {
  const text = fault === 'Refused' ? record?.refusal?.message : service?.error;
  return text ? providerText(text, secrets(), longest) : undefined;
}

/** Values of the environment, which an error may repeat. */
export function environmentValues(
  { fleet, key }: Pick<FleetView, 'fleet' | 'key'>,
  { content, data }: Pick<PresentContent, 'content' | 'data'>,
): string[] {
  const { namespace } = parseObjectKey(key);
  const { secrets, configMaps } = fleet.snapshot;
  const referred = data.flatMap(({ kind, name, keys }) => {
    const values = (kind === 'Secret' ? secrets : configMaps).get(`${namespace}/${name}`);
    return keys.flatMap((each) => values?.get(each)?.reveal() ?? []);
  });
  const { env = [] } = content as { readonly env?: readonly { readonly value?: string }[] };
  return [...referred, ...env.flatMap(({ value }) => value ?? [])];
}
