import { createService, createVolume } from '../../actions/index.ts';
import type { Action } from '../plan/index.ts';

/** What a patch, a resize or a rotation can change afterwards; all else has to be the same from the start. */
const changeable: ReadonlySet<string> = new Set([
  'image',
  'command',
  'httpPort',
  'resources',
  'sleepAfterMinutes',
]);

/** Whether what `sent` makes can be brought to what `wanted` would make without creating it anew. */
export function leadsTo(sent: Action, wanted: Action): boolean {
  if (sent.do === createService.name && wanted.do === createService.name) {
    const [from, to] = [sent.body, wanted.body] as Readonly<Record<string, unknown>>[];
    const names = new Set([...Object.keys(from ?? {}), ...Object.keys(to ?? {})]);
    return [...names].every((name) =>
      changeable.has(name)
        ? from?.[name] === undefined || to?.[name] !== undefined
        : JSON.stringify(from?.[name]) === JSON.stringify(to?.[name]),
    );
  }
  if (sent.do === createVolume.name && wanted.do === createVolume.name) {
    const [from, to] = [sent.body, wanted.body];
    return from.region === to.region && from.geography === to.geography && from.sizeGb <= to.sizeGb;
  }
  return sent.do === wanted.do;
}
