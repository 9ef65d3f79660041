/**
 * As much OpenAPI as `kubectl` looks at: which query parameters a PATCH of each kind takes (so that it leaves validation and
 * dry runs to the server), and for custom resources their schemas (for `kubectl explain`). Version 2 also in the protobuf
 * form that old releases insist on.
 */
import { apiVersionOf, type Kind, type Kinds } from './kinds.ts';
import { message, text } from './protobuf.ts';

const parameters = ['dryRun', 'fieldManager', 'fieldValidation', 'force', 'pretty'];
const info = { title: 'Kubernetes', version: 'v1.33.0' };

function pathOf(kind: Kind): string {
  const root = kind.group ? `/apis/${kind.group}/${kind.version}` : `/api/${kind.version}`;
  return `${root}/${kind.namespaced ? 'namespaces/{namespace}/' : ''}${kind.plural}/{name}`;
}

function kindExtension({ group, version, kind }: Kind): object {
  return { group, kind, version };
}

export function openApiV2(kinds: Kinds): object {
  const paths = kinds.all().map((kind) => [
    pathOf(kind),
    {
      patch: {
        parameters: parameters.map((name) => ({ name, in: 'query', type: 'string', uniqueItems: true })),
        responses: { 200: { description: 'OK' } },
        'x-kubernetes-action': 'patch',
        'x-kubernetes-group-version-kind': kindExtension(kind),
      },
    },
  ]);
  return { swagger: '2.0', info, paths: Object.fromEntries(paths) as object, definitions: {} };
}

/** `openapi.v2.Document` of gnostic. */
export function openApiV2Protobuf(kinds: Kinds): Buffer {
  const paths = kinds.all().map((kind) => {
    const extension = message(
      [1, text('x-kubernetes-group-version-kind')],
      [2, message([2, text(yamlOf(kind))])],
    );
    const ofQuery = parameters.map((name): [number, Buffer] => [8, queryParameter(name)]);
    const patch = message(...ofQuery, [9, Buffer.alloc(0)], [13, extension]);
    return message([1, text(pathOf(kind))], [2, message([8, patch])]);
  });
  return message(
    [1, text('2.0')],
    [2, message([1, text(info.title)], [2, text(info.version)])],
    [8, message(...paths.map((path): [number, Buffer] => [2, path]))],
    [9, Buffer.alloc(0)],
  );
}

function yamlOf({ group, version, kind }: Kind): string {
  return `group: "${group}"\nkind: ${kind}\nversion: ${version}\n`;
}

/** ParametersItem{Parameter{NonBodyParameter{QueryParameterSubSchema}}}. */
function queryParameter(name: string): Buffer {
  const schema = message([2, text('query')], [4, text(name)], [6, text('string')]);
  return message([1, message([2, message([3, schema])])]);
}

/** The documents that there are: one for each group and version. */
export function openApiV3Index(kinds: Kinds): object {
  const apiVersions = [...new Set(kinds.all().map(apiVersionOf))];
  const paths = apiVersions.map((apiVersion) => {
    const path = apiVersion.includes('/') ? `apis/${apiVersion}` : `api/${apiVersion}`;
    return [path, { serverRelativeURL: `/openapi/v3/${path}` }];
  });
  return { paths: Object.fromEntries(paths) as object };
}

/** `path` as in the index, e.g. `apis/batch/v1`. */
export function openApiV3(kinds: Kinds, path: string): object | undefined {
  const apiVersion = path.replace(/^apis?\//, '');
  const own = kinds.all().filter((kind) => apiVersionOf(kind) === apiVersion);
  if (own.length === 0) return undefined;
  const paths = own.map((kind) => [
    pathOf(kind),
    {
      patch: {
        parameters: parameters.map((name) => ({
          name,
          in: 'query',
          schema: { type: 'string', uniqueItems: true },
        })),
        responses: { 200: { description: 'OK' } },
        'x-kubernetes-action': 'patch',
        'x-kubernetes-group-version-kind': kindExtension(kind),
      },
    },
  ]);
  const schemas = own
    .filter(({ schema }) => schema)
    .map((kind) => {
      const reversed = kind.group.split('.').toReversed().join('.');
      const extended = { ...kind.schema?.schema, 'x-kubernetes-group-version-kind': [kindExtension(kind)] };
      return [`${reversed}.${kind.version}.${kind.kind}`, extended];
    });
  return {
    openapi: '3.0.0',
    info,
    paths: Object.fromEntries(paths) as object,
    components: { schemas: Object.fromEntries(schemas) as object },
  };
}
