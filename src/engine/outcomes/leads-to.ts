import { createService, createVolume } from '../../actions/index.ts';
import type { Action } from '../plan/index.ts';

/** What a patch, a resize or a rotation can change later. Everything else has to be equal from the start. */
const changeable: ReadonlySet<string> = new Set([
  'image',
  'command',
  'httpPort',
  'resources',
  'sleepAfterMinutes',
]);

/** Whether the thing that `sent` makes can become the one that `wanted` would make, without a new creation. */
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
