/** The operator commands of a fleet: their form. What they do: commands.ts. */
import type { CommandVerbs } from '../../resources/parts/commands.ts';

const time = /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z/;

const revision = /^r\d+$/;

export const fleetVerbs: CommandVerbs = {
  retire: {
    // The number of a replica, and how the uid of its object begins.
    argument: /^\d{1,4}$/,
    target: /^[0-9a-f]{8}$/,
    example: 'retire:3@9f2c41aa',
  },
  scale: {
    // A number of replicas, perhaps with the end of its time, and the generation of the document.
    argument: new RegExp(`^\\d{1,4}(:${time.source})?$`),
    target: /^g\d+$/,
    example: 'scale:9@g12',
    only: 'folder',
  },
  // A revision, and the attempt that failed.
  abort: { target: revision, example: 'abort@r7' },
  retry: { target: /^r\d+#\d+$/, example: 'retry@r7#1' },
  freeze: { target: revision, example: 'freeze@r7' },
  thaw: { target: revision, example: 'thaw@r7' },
  // A revision, and the step that is under way.
  promote: { target: /^r\d+#\d+$/, example: 'promote@r7#2' },
  'promote-full': { target: /^r\d+#\d+$/, example: 'promote-full@r7#2' },
};

/** How a command names the object of a replica. */
export function uidMark(uid: string): string {
  return uid.slice(0, 8).toLowerCase();
}
