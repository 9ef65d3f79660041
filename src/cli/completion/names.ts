/** What the objects of a fleet have, for a command line that is being written. */
import { readFolder } from '../../desired/index.ts';
import { containerService } from '../../kinds/container-service/declaration.ts';
import { serviceFleet } from '../../kinds/service-fleet/declaration.ts';
import { parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import { readState } from '../../state/index.ts';
import type { Context } from '../context.ts';
import { fleetFor } from '../flags/defaults.ts';
import { SourceOption } from '../flags/source-option.ts';
import { ownerChoice, stateFile } from '../options.ts';
import type { Candidate, Known, Line } from './words.ts';

interface Present {
  readonly key: ObjectKey;
  readonly labels: Readonly<Record<string, string>>;
}

/** A folder that can't be read has nothing to offer; an error would only disturb the line. */
export async function known(context: Context, line: Line, what: Known): Promise<readonly Candidate[]> {
  try {
    return candidatesOf(await objectsOf(context, line), line.flags.get('--namespace') ?? 'default', what);
  } catch {
    return [];
  }
}

function candidatesOf(objects: readonly Present[], namespace: string, what: Known): Candidate[] {
  if (what === 'namespace') return unique(objects.map(({ key }) => parseObjectKey(key).namespace));
  if (what === 'label') {
    return unique(
      objects.flatMap(({ labels }) => Object.entries(labels).map(([key, value]) => `${key}=${value}`)),
    );
  }
  const there = objects
    .map(({ key }) => parseObjectKey(key))
    .filter((object) => object.namespace === namespace);
  if (what === 'object') return unique(there.map(({ kind, name }) => `${kind}/${name}`));
  const fleets = there.filter(({ kind }) => kind === serviceFleet.name).map(({ name }) => name);
  if (what === 'fleet') return unique(fleets, serviceFleet.name);
  const services = there.filter(({ kind }) => kind === containerService.name).map(({ name }) => name);
  const isReplica = (name: string) => fleets.includes(name.replace(/-\d+$/, '')) && /-\d+$/.test(name);
  return unique(what === 'replica' ? services.filter(isReplica) : services, containerService.name);
}

async function objectsOf(context: Context, { command, flags, dir }: Line): Promise<Present[]> {
  const option = command.options.find((one) => one instanceof SourceOption);
  if (!option) return [];
  const chosen = await fleetFor(context, option, { source: flags.get('--source'), dir });
  if (!chosen) return [];
  const { source, settings } = chosen;
  const state = flags.get('--state') ?? settings?.of(command.name()).get('state')?.text;
  const file = stateFile({ source, ...(state === undefined ? {} : { state }) });
  const records = [...readState(file, context.random, ownerChoice({ source })).records()];
  const { objects, unusable } = await readFolder(source);
  return [
    ...[...objects.values()].map(({ key, labels }) => ({ key, labels })),
    ...[...unusable.keys()].map((key) => ({ key, labels: {} })),
    ...records.map(({ key, manifest: { labels } }) => ({ key, labels })),
  ];
}

/** A shell inserts what is offered as it is: it could run a part of what others wrote, and a terminal could obey it. */
const harmless = /^[\w./=:@%+,-]{1,300}$/;

function unique(words: readonly string[], description = ''): Candidate[] {
  const offered = [...new Set(words)].filter((word) => harmless.test(word));
  return offered.sort().map((word) => ({ word, description }));
}
