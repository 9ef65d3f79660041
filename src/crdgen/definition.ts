/** The CustomResourceDefinition of a kind. */
import {
  documents,
  group,
  objectName,
  resourceTypes,
  rulesKeyword,
  version,
  type ManagedKind,
} from '../resources/index.ts';
import { presentation } from './presentation.ts';
import { statusSchema } from './status.ts';
import { structuralSchema, type StructuralSchema } from './structural.ts';
import { transitionRules } from './transitions.ts';

export interface CustomResourceDefinition {
  readonly apiVersion: 'apiextensions.k8s.io/v1';
  readonly kind: 'CustomResourceDefinition';
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: {
    readonly group: string;
    readonly scope: 'Namespaced';
    readonly names: {
      readonly kind: ManagedKind;
      readonly listKind: string;
      readonly plural: string;
      readonly singular: string;
      readonly shortNames: readonly string[];
      readonly categories: readonly string[];
    };
    readonly versions: readonly [
      {
        readonly name: string;
        readonly served: true;
        readonly storage: true;
        readonly subresources: { readonly status: object };
        readonly additionalPrinterColumns: readonly object[];
        readonly selectableFields?: readonly { readonly jsonPath: string }[];
        readonly schema: { readonly openAPIV3Schema: StructuralSchema };
      },
    ];
  };
}

export function customResourceDefinition(kind: ManagedKind): CustomResourceDefinition {
  const { plural } = resourceTypes[kind];
  const { shortName, columns, selectable } = presentation[kind];
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}`, labels: { 'app.kubernetes.io/part-of': 'fleetkeeper' } },
    spec: {
      group,
      scope: 'Namespaced',
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        shortNames: [shortName],
        categories: ['fleetkeeper'],
      },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: columns,
          ...(selectable.length > 0
            ? { selectableFields: selectable.map((jsonPath) => ({ jsonPath })) }
            : {}),
          schema: { openAPIV3Schema: openApiSchema(kind) },
        },
      ],
    },
  };
}

/** The API server sees to `metadata` by itself, but for the bounds of the name. */
function openApiSchema(kind: ManagedKind): StructuralSchema {
  const document = documents[kind];
  const { description = '', [rulesKeyword]: own = [] } = document.meta() as Pick<
    StructuralSchema,
    'description' | typeof rulesKeyword
  >;
  const rules = [...own, ...transitionRules(kind)];
  return {
    description,
    type: 'object',
    required: ['spec'],
    ...(rules.length > 0 ? { [rulesKeyword]: rules } : {}),
    properties: {
      apiVersion: { type: 'string', description: `${group}/${version}` },
      kind: { type: 'string', description: kind },
      metadata: { type: 'object', properties: { name: structuralSchema(objectName) } },
      spec: structuralSchema(document.shape.spec),
      status: structuralSchema(statusSchema(kind)),
    },
  };
}
