/**
 * What the account shows of each thing, as the spec of an object that adopts it. Every field is written as it is observed, so
 * that a plan finds nothing to do; what is hidden, or would not come back the same, is left out as a gap.
 */
import type { wire } from '../../api/index.ts';
import { wholeResources } from '../../api/wire.ts';
import { parseBeacon, readVolumeMark, withoutTemplateMark } from '../../engine/plan/index.ts';
import { annotations, shownRepository } from '../../resources/index.ts';
import { brief, type Draft, type Gap } from './draft.ts';
import type { Holding, Of } from '../survey.ts';

/** Where an object is put, and under which name. */
export interface Place {
  readonly namespace: string;
  readonly name: string;
  /** The name of the Account. */
  readonly account: string;
}

/** What a document of a service states about its storage. */
export type StorageDraft =
  | { readonly volumeRef: { readonly name: string } }
  | { readonly volumeId: string }
  | { readonly volumeGb: number }
  | undefined;

export function serviceDraft(holding: Of<'ContainerService'>, place: Place, storage: StorageDraft): Draft {
  const { value } = holding;
  return {
    ...common(holding, place, 'service'),
    kind: 'ContainerService',
    spec: {
      ...accountRef(place),
      serviceName: value.name,
      region: present(value.region),
      image: present(value.image),
      command: typeof value.command === 'string' ? undefined : listed(value.command),
      resources: wholeResources(value.resources),
      httpPort: present(value.httpPort),
      storage,
      sleepAfterMinutes: sleepOf(value),
      desiredState: value.state === 'paused' ? 'Stopped' : 'Running',
      deletionPolicy: 'Retain',
      adopt: { id: value.id },
    },
    needed: ['region', 'image', 'resources'],
    gaps: [...geographyGap(value.geography), ...commandGap(value), environmentGap(value), ...stateGap(value)],
  };
}

/** Without a policy it never sleeps; one that sleeps all the same is not to be woken by its own import. */
function sleepOf({ sleepAfterMinutes, state }: wire.Service): number | undefined {
  if (sleepAfterMinutes === null) return state === 'sleeping' ? undefined : 0;
  return sleepAfterMinutes;
}

function environmentGap({ environmentNames }: wire.Service): Gap {
  const names = (environmentNames ?? []).filter((name) => parseBeacon(name) === undefined);
  const shown = environmentNames ? `it has ${names.length}` : 'nor are their names';
  return {
    field: 'env',
    why: `values of variables are never shown (${shown}). Without it the service keeps its own; if given, it is the whole environment`,
    example: names.length === 0 ? [] : ['env:', ...names.map(environmentLine)],
  };
}

/** One text has to be split as the provider's shell would. */
function commandGap({ command }: wire.Service): Gap[] {
  if (typeof command !== 'string') return [];
  const why = `it is shown as one text (${brief(command)}), and has to be written as a list`;
  return [{ field: 'command', why, example: ['command: [FILL-IN]'] }];
}

function environmentLine(name: string): string {
  return `  - {name: ${JSON.stringify(name)}, value: FILL-IN}`;
}

function stateGap({ state, error }: wire.Service): Gap[] {
  if (state !== 'error') return [];
  const why = `the service is in error (${brief(error ?? 'no reason given')}), which a plan shows until it is mended`;
  return [{ field: 'onError', why, example: ['onError: {restarts: 3}'] }];
}

export function volumeDraft(holding: Of<'StorageVolume'>, place: Place): Draft {
  const { value } = holding;
  const marked = readVolumeMark(value.name) !== undefined;
  return {
    ...common(holding, place, 'volume'),
    kind: 'StorageVolume',
    spec: {
      ...accountRef(place),
      // With another owner's mark behind it, the name is that owner's to give.
      volumeName: marked ? undefined : value.name,
      region: present(value.region),
      sizeGb: present(value.requestedSizeGb ?? value.sizeGb),
      deletionPolicy: 'Retain',
      adopt: { id: value.id },
    },
    needed: ['region', 'sizeGb'],
    gaps: [
      ...geographyGap(value.geography),
      ...(marked ? [{ field: 'volumeName', why: `it is ${brief(value.name)}, mark included` }] : []),
    ],
  };
}

export function templateDraft(holding: Of<'ServiceTemplate'>, place: Place): Draft {
  const { value } = holding;
  return {
    ...common(holding, place, 'template'),
    kind: 'ServiceTemplate',
    spec: {
      ...accountRef(place),
      templateName: value.name,
      description: withoutTemplateMark(value.description ?? '') || undefined,
      image: present(value.image),
      command: listed(value.command),
      resources: wholeResources(value.resources),
      httpPort: present(value.httpPort),
      containerDiskGb: present(value.containerDiskGb),
      workspaceGb: present(value.workspaceGb),
      sleepAfterMinutes: value.sleepAfterMinutes === null ? 0 : value.sleepAfterMinutes,
      requiredEnvironment: listed(value.requiredEnvironment),
      deletionPolicy: 'Retain',
      adopt: { id: value.id },
    },
    needed: ['image'],
    gaps: [],
  };
}

export function registryDraft(holding: Of<'ImageRegistry'>, place: Place): Draft {
  const { value } = holding;
  return {
    ...common(holding, place, 'registry'),
    kind: 'ImageRegistry',
    spec: {
      ...accountRef(place),
      repository: shownRepository(value.repository) ?? value.repository,
      deletionPolicy: 'Retain',
      adopt: { id: value.id },
    },
    needed: ['repository'],
    gaps: [
      {
        field: 'credentialsSecretRef',
        why: 'user names and passwords are never shown. Without it the registry keeps its own; if given, they are replaced once',
        example: ['credentialsSecretRef: {name: FILL-IN, usernameKey: username, passwordKey: password}'],
      },
    ],
  };
}

function common(
  holding: Holding,
  place: Place,
  noun: string,
): Pick<Draft, 'namespace' | 'name' | 'notes' | 'annotations'> {
  const { id, markedBy } = holding;
  const stays = `If this document is removed, the ${noun} stays (deletionPolicy: Retain).`;
  const foreign =
    markedBy === undefined
      ? []
      : [
          `It carries the mark of the owner ${markedBy}, whose documents may differ: two owners undo each`,
          `other's changes. Remove it there before you change it here. ${annotations.adoptFrom} overrides the mark.`,
        ];
  return {
    namespace: place.namespace,
    name: place.name,
    notes: [`Imported from the ${noun} ${id} of the account ${place.account}. ${stays}`, ...foreign],
    annotations: markedBy === undefined ? {} : { [annotations.adoptFrom]: markedBy },
  };
}

function accountRef({ account }: Place): object {
  return account === 'default' ? {} : { accountRef: { name: account } };
}

/** The group of regions that was asked for is not shown, only where it led to. */
function geographyGap(geography: string | null | undefined): Gap[] {
  if (!geography) return [];
  return [
    {
      field: 'geography',
      why: 'what was asked for is not shown; it led to this one',
      example: [`geography: ${JSON.stringify(geography)}`],
    },
  ];
}

/** The API's null is "none", which a document expresses by omitting the field. */
function present<Value>(value: Value | null | undefined): Value | undefined {
  return value ?? undefined;
}

function listed(value: readonly string[] | null | undefined): readonly string[] | undefined {
  return value && value.length > 0 ? value : undefined;
}
