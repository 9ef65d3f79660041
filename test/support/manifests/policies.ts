/** The policies of examples/policies/, and what each of them admits and refuses: for their expressions alone, and for a real API server. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { apiVersion, type ManagedKind } from '../../../src/resources/index.ts';

const folder = path.join(import.meta.dirname, '../../../examples/policies');

interface Rule {
  readonly apiGroups: readonly string[];
  readonly apiVersions: readonly string[];
  readonly operations: readonly string[];
  readonly resources: readonly string[];
}

export interface Policy {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly failurePolicy: string;
    readonly matchConstraints: { readonly resourceRules: readonly Rule[] };
    readonly matchConditions: readonly { readonly name: string; readonly expression: string }[];
    readonly variables?: readonly { readonly name: string; readonly expression: string }[];
    readonly validations: readonly {
      readonly expression: string;
      readonly message?: string;
      readonly messageExpression?: string;
    }[];
  };
}

export interface PolicyBinding {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly policyName: string;
    readonly validationActions: readonly string[];
    readonly matchResources?: { readonly namespaceSelector: { readonly matchLabels: object } };
  };
}

export function policyText(file: string): string {
  return readFileSync(path.join(folder, file), 'utf8');
}

/** As its kustomization names them. */
export const policyFiles = (parse(policyText('kustomization.yaml')) as { readonly resources: string[] })
  .resources;

export function policyOf(file: string): { readonly policy: Policy; readonly binding: PolicyBinding } {
  const [policy, binding] = parseAllDocuments(policyText(file)).map((document): unknown => document.toJS());
  return { policy: policy as Policy, binding: binding as PolicyBinding };
}

export interface PolicyCase {
  readonly file: string;
  /** What somebody does. */
  readonly what: string;
  readonly kind: ManagedKind;
  /** An edit; absent: a creation. */
  readonly before?: object;
  readonly after: object;
  /** `after` is the number of replicas that is sent to `/scale`. */
  readonly scale?: number;
  /** Who has the verb `override` on budgets. */
  readonly isTreasurer?: true;
  /** A part of the message of the refusal; absent: it is admitted. */
  readonly refused?: string;
}

const good = {
  image: 'ghcr.io/corner-shop/app:1',
  foreign: 'ghcr.io/somebody/app:1',
  annotation: { 'fleetkeeper.dev/allow-overspend-until': '2030-01-01T00:00:00Z' },
};

interface Metadata {
  readonly labels?: object;
  readonly annotations?: object;
}

const teamed = { labels: { team: 'shop' } };

/** What all policies admit, but for what is given. */
function service(spec: object = {}, metadata: Metadata = teamed): object {
  const required = { region: 'standard', image: good.image, resources: { cpu: 1, memoryGb: 1 } };
  return {
    apiVersion,
    kind: 'ContainerService',
    metadata: { name: 'case', ...metadata },
    spec: { ...required, deletionPolicy: 'Retain', ...spec },
  };
}

function fleet(spec: object = {}, { metadata = teamed, template = {} } = {}): object {
  const of = { region: 'standard', image: good.image, resources: { cpu: 1, memoryGb: 1 }, ...template };
  return {
    apiVersion,
    kind: 'ServiceFleet',
    metadata: { name: 'case', ...metadata },
    spec: {
      template: { metadata: teamed, spec: of },
      placement: { maxHourlyMicros: 900_000, candidates: [{ name: 'a', region: 'standard' }] },
      deletionPolicy: 'Retain',
      ...spec,
    },
  };
}

function volume(spec: object = {}, metadata: Metadata = teamed): object {
  const required = { region: 'standard', sizeGb: 10 };
  return {
    apiVersion,
    kind: 'StorageVolume',
    metadata: { name: 'case', ...metadata },
    spec: { ...required, ...spec },
  };
}

function serviceTemplate(image: string): object {
  const spec = { image, deletionPolicy: 'Retain' };
  return { apiVersion, kind: 'ServiceTemplate', metadata: { name: 'case', ...teamed }, spec };
}

function serviceCases(file: string, cases: readonly Omit<PolicyCase, 'file' | 'kind'>[]): PolicyCase[] {
  return cases.map((each) => Object.assign({ file, kind: 'ContainerService' } as const, each));
}

function fleetCases(file: string, cases: readonly Omit<PolicyCase, 'file' | 'kind'>[]): PolicyCase[] {
  return cases.map((each) => Object.assign({ file, kind: 'ServiceFleet' } as const, each));
}

const images: readonly PolicyCase[] = [
  ...serviceCases('images.yaml', [
    { what: 'an image from the list', after: service() },
    { what: 'another image', after: service({ image: good.foreign }), refused: 'is not from' },
    {
      what: 'a name that only begins like one of the list',
      after: service({ image: 'ghcr.io/corner-shop-of-mine/app:1' }),
      refused: 'is not from ghcr.io/corner-shop/ or ',
    },
    {
      what: 'another image that was there before, and is edited otherwise',
      before: service({ image: good.foreign }),
      after: service({ image: good.foreign, httpPort: 80 }),
    },
    {
      what: 'a change from one image to another that is not from the list',
      before: service({ image: good.foreign }),
      after: service({ image: `${good.foreign}.1` }),
      refused: 'is not from',
    },
    { what: 'an image from a template', after: service({ image: undefined, templateRef: { name: 'base' } }) },
  ]),
  ...fleetCases('images.yaml', [
    { what: 'replicas with an image from the list', after: fleet() },
    {
      what: 'replicas with another image',
      after: fleet({}, { template: { image: good.foreign } }),
      refused: 'is not from',
    },
  ]),
  {
    file: 'images.yaml',
    kind: 'ServiceTemplate',
    what: 'a template with another image',
    after: serviceTemplate(good.foreign),
    refused: 'is not from',
  },
];

/** As volumes of replicas need it. */
const oneByOne = { maxReplicas: 3, update: { maxSurge: 0, maxUnavailable: 1 } };

const production: readonly PolicyCase[] = [
  ...serviceCases('keep-production.yaml', [
    { what: 'Retain', after: service() },
    { what: 'Delete', after: service({ deletionPolicy: 'Delete' }), refused: 'deletionPolicy: Retain' },
    {
      what: 'no policy, which means Delete',
      after: service({ deletionPolicy: undefined }),
      refused: 'Retain',
    },
    {
      what: 'a change to Delete',
      before: service(),
      after: service({ deletionPolicy: 'Delete' }),
      refused: 'deletionPolicy: Retain',
    },
    {
      what: 'Delete that was there before, and another edit',
      before: service({ deletionPolicy: 'Delete' }),
      after: service({ deletionPolicy: 'Delete', httpPort: 80 }),
    },
  ]),
  ...fleetCases('keep-production.yaml', [
    { what: 'a fleet with Delete', after: fleet({ deletionPolicy: 'Delete' }), refused: 'Retain' },
    {
      what: 'a fleet that deletes the volumes of its replicas',
      after: fleet({ ...oneByOne, storage: { perReplica: { sizeGb: 10, retire: 'Delete' } } }),
      refused: 'retire: Keep',
    },
    {
      what: 'a fleet that keeps the volumes of its replicas',
      after: fleet({ ...oneByOne, storage: { perReplica: { sizeGb: 10 } } }),
    },
  ]),
  { file: 'keep-production.yaml', kind: 'StorageVolume', what: 'a volume by default', after: volume() },
  {
    file: 'keep-production.yaml',
    kind: 'StorageVolume',
    what: 'a volume with Delete',
    after: volume({ deletionPolicy: 'Delete' }),
    refused: 'Retain',
  },
];

const labels: readonly PolicyCase[] = [
  ...serviceCases('team-label.yaml', [
    { what: 'a label team', after: service() },
    { what: 'no label team', after: service({}, {}), refused: 'label `team` is missing' },
    { what: 'an empty one', after: service({}, { labels: { team: '' } }), refused: 'is missing' },
    { what: 'a label that is removed', before: service(), after: service({}, {}), refused: 'is missing' },
    {
      what: 'none before, and another edit',
      before: service({}, {}),
      after: service({ httpPort: 80 }, {}),
    },
  ]),
  ...fleetCases('team-label.yaml', [
    { what: 'a fleet with the label on both', after: fleet() },
    {
      what: 'a fleet whose replicas would have none',
      after: fleet({
        template: {
          spec: { region: 'standard', image: good.image, resources: { cpu: 1, memoryGb: 1 } },
        },
      }),
      refused: 'template.metadata.labels',
    },
  ]),
  {
    file: 'team-label.yaml',
    kind: 'Account',
    what: 'an Account without it',
    after: {
      apiVersion,
      kind: 'Account',
      metadata: { name: 'case' },
      spec: { url: 'https://api.example.com' },
    },
    refused: 'label `team` is missing',
  },
];

const prices = fleetCases('fleet-price.yaml', [
  { what: 'a highest price', after: fleet() },
  { what: 'no placement', after: fleet({ placement: undefined }), refused: 'maxHourlyMicros' },
  {
    what: 'a highest price that is taken out',
    before: fleet(),
    after: fleet({ placement: { candidates: [{ name: 'a', region: 'standard' }] } }),
    refused: 'maxHourlyMicros',
  },
  {
    what: 'none before, and another edit',
    before: fleet({ placement: undefined }),
    after: fleet({ placement: undefined, replicas: 2 }),
  },
]);

const window = { name: 'day', cron: '0 8 * * *', durationMinutes: 60 };

const replicas = fleetCases('fleet-replicas.yaml', [
  { what: '50 replicas', after: fleet({ replicas: 50 }) },
  { what: '51 replicas', after: fleet({ replicas: 51 }), refused: '51 replicas are more than 50' },
  { what: 'at least 60', after: fleet({ minReplicas: 60 }), refused: '60 replicas are more than 50' },
  {
    what: 'a schedule with 70',
    after: fleet({ schedules: [{ ...window, replicas: 70 }] }),
    refused: '70 replicas are more than 50',
  },
  {
    what: 'a schedule with at least 80',
    after: fleet({ schedules: [{ ...window, minReplicas: 80 }] }),
    refused: '80 replicas are more than 50',
  },
  { what: '90 before, then 80', before: fleet({ replicas: 90 }), after: fleet({ replicas: 80 }) },
  {
    what: '90 before, then 91',
    before: fleet({ replicas: 90 }),
    after: fleet({ replicas: 91 }),
    refused: '91 replicas',
  },
  { what: '/scale to 50', before: fleet(), after: fleet({ replicas: 50 }), scale: 50 },
  {
    what: '/scale to 51',
    before: fleet(),
    after: fleet({ replicas: 51 }),
    scale: 51,
    refused: '51 replicas are more than 50',
  },
]);

const passing = { ...teamed, annotations: good.annotation };
const passingTemplate = {
  template: {
    metadata: passing,
    spec: { region: 'standard', image: good.image, resources: { cpu: 1, memoryGb: 1 } },
  },
};

const overrides: readonly PolicyCase[] = [
  ...serviceCases('budget-override.yaml', [
    { what: 'no annotation', after: service() },
    { what: 'the annotation without the right', after: service({}, passing), refused: 'the verb override' },
    { what: 'the annotation with the right', after: service({}, passing), isTreasurer: true },
    {
      what: 'another time without the right',
      before: service({}, passing),
      after: service(
        {},
        { ...teamed, annotations: { 'fleetkeeper.dev/allow-overspend-until': '2031-01-01T00:00:00Z' } },
      ),
      refused: 'the verb override',
    },
    { what: 'its removal', before: service({}, passing), after: service() },
    {
      what: 'another edit beside it',
      before: service({}, passing),
      after: service({ httpPort: 80 }, passing),
    },
  ]),
  {
    file: 'budget-override.yaml',
    kind: 'StorageVolume',
    what: 'a volume with it, without the right',
    after: volume({}, passing),
    refused: 'the verb override',
  },
  ...fleetCases('budget-override.yaml', [
    {
      what: 'replicas with it, without the right',
      after: fleet(passingTemplate),
      refused: 'template.metadata.annotations',
    },
    { what: 'replicas with it, with the right', after: fleet(passingTemplate), isTreasurer: true },
  ]),
];

export const policyCases: readonly PolicyCase[] = [
  ...images,
  ...production,
  ...labels,
  ...prices,
  ...replicas,
  ...overrides,
].map((each) => JSON.parse(JSON.stringify(each)) as PolicyCase);
