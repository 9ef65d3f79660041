/** The CustomResourceDefinition of a kind. */
import { declarations } from '../kinds/declarations.ts';
import { group, objectName, rulesKeyword, traitsOf, version, type ManagedKind } from '../resources/index.ts';
import { structuralSchema, type StructuralSchema } from './structural.ts';

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
        readonly subresources: { readonly status: object; readonly scale?: object };
        readonly additionalPrinterColumns: readonly object[];
        readonly selectableFields?: readonly { readonly jsonPath: string }[];
        readonly schema: { readonly openAPIV3Schema: StructuralSchema };
      },
    ];
  };
}

export function customResourceDefinition(kind: ManagedKind): CustomResourceDefinition {
  const { plural, shortName, columns, selectable } = declarations[kind];
  const { scale } = traitsOf(kind);
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
          subresources: { status: {}, ...(scale ? { scale } : {}) },
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

const whatStatusIs = 'What was last seen and done. Written by the manager only.';

/** The API server sees to `metadata` by itself, but for the bounds of the name. */
function openApiSchema(kind: ManagedKind): StructuralSchema {
  const { document, status, transitions } = declarations[kind];
  const { description = '', [rulesKeyword]: own = [] } = document.meta() as Pick<
    StructuralSchema,
    'description' | typeof rulesKeyword
  >;
  const rules = [...own, ...transitions];
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
      status: structuralSchema(status.describe(whatStatusIs)),
    },
  };
}
