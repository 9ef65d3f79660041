/**
 * `examples/argo-cd/argocd-cm.yaml`, from the Lua files beside it and the declarations of the kinds: health for every kind, actions for those that
 * take commands, and the differences that are none. `npm run gitops` writes it anew.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import {
  annotations,
  group,
  managedKinds,
  traitsOf,
  type ManagedKind,
} from '../../../src/resources/index.ts';

const folder = path.join(import.meta.dirname, '../../../examples/argo-cd');
const made = path.join(folder, 'argocd-cm.yaml');

/** In the order in which they are listed. */
export const actionNames = ['promote', 'promote-full', 'abort', 'retry', 'freeze', 'thaw'] as const;
export type ActionName = (typeof actionNames)[number];

export function luaOf(file: string): string {
  return readFileSync(path.join(folder, file), 'utf8');
}

function indented(text: string, columns: number): string {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => (line === '' ? '' : `${' '.repeat(columns)}${line}`))
    .join('\n');
}

function healthOf(kind: ManagedKind): string {
  return `  resource.customizations.health.${group}_${kind}: |\n${indented(luaOf('health.lua'), 4)}\n`;
}

function actionsOf(kind: ManagedKind): string {
  if (!traitsOf(kind).commands) return '';
  const definitions = actionNames.map(
    (name) => `      - name: ${name}\n        action.lua: |\n${indented(luaOf(`actions/${name}.lua`), 10)}\n`,
  );
  return [
    `  resource.customizations.actions.${group}_${kind}: |\n`,
    `    discovery.lua: |\n${indented(luaOf('actions/discovery.lua'), 6)}\n`,
    `    definitions:\n${definitions.join('')}`,
  ].join('');
}

/** What somebody writes beside Git: a scale, and annotations of commands. */
export function ignoredIn(kind: ManagedKind): string[] {
  const { commands, list } = traitsOf(kind);
  const pointer = (name: string) => `/metadata/annotations/${name.replaceAll('/', '~1')}`;
  return [
    ...(commands ? ['/spec/replicas', pointer(annotations.command)] : []),
    ...(list ? [pointer(annotations.resolve)] : []),
  ];
}

function differencesOf(kind: ManagedKind): string {
  const pointers = ignoredIn(kind);
  if (pointers.length === 0) return '';
  const lines = pointers.map((pointer) => `      - ${pointer}\n`).join('');
  return `  resource.customizations.ignoreDifferences.${group}_${kind}: |\n    jsonPointers:\n${lines}`;
}

export function configMapAsDeclared(): string {
  const kinds = [...managedKinds].sort();
  return [
    '# Made by `npm run gitops` from health.lua and actions/; not to be edited.\n',
    'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: argocd-cm\n  labels:\n',
    '    app.kubernetes.io/name: argocd-cm\n    app.kubernetes.io/part-of: argocd\ndata:\n',
    ...kinds.map(healthOf),
    ...kinds.map(actionsOf),
    ...kinds.map(differencesOf),
  ].join('');
}

export function configMapAsItIs(): string {
  return readFileSync(made, 'utf8');
}

if (import.meta.main) writeFileSync(made, configMapAsDeclared());
