import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { managedKinds } from '../../../src/resources/index.ts';
import { runLua, whatLuaNeeds } from '../../support/lua.ts';
import { actionNames, configMapAsDeclared, configMapAsItIs, ignoredIn, luaOf } from './argo-cd.ts';

const { data } = parse(configMapAsItIs()) as { readonly data: Readonly<Record<string, string>> };
const prefix = 'resource.customizations';

test('argocd-cm.yaml is as its Lua files and the declared kinds; else run `npm run gitops`', () => {
  expect(configMapAsItIs()).toBe(configMapAsDeclared());
});

test('Argo CD finds the health of each kind, all actions, and the differences that are none', () => {
  for (const kind of managedKinds) {
    expect(data[`${prefix}.health.fleetkeeper.dev_${kind}`]).toBe(luaOf('health.lua'));
    const differences = data[`${prefix}.ignoreDifferences.fleetkeeper.dev_${kind}`] ?? 'jsonPointers: []';
    expect(parse(differences)).toEqual({ jsonPointers: ignoredIn(kind) });
  }
  const actions = parse(data[`${prefix}.actions.fleetkeeper.dev_ServiceFleet`] ?? '') as {
    readonly 'discovery.lua': string;
    readonly definitions: readonly { readonly name: string; readonly 'action.lua': string }[];
  };
  expect(actions['discovery.lua']).toBe(luaOf('actions/discovery.lua'));
  expect(actions.definitions).toEqual(
    actionNames.map((name) => ({ name, 'action.lua': luaOf(`actions/${name}.lua`) })),
  );
  expect(ignoredIn('ServiceFleet')).toEqual([
    '/spec/replicas',
    '/metadata/annotations/fleetkeeper.dev~1command',
  ]);
});

test.skipIf(whatLuaNeeds())('the actions that are shown are those that are defined', () => {
  const shown = runLua(luaOf('actions/discovery.lua'), { metadata: { generation: 1 } });
  expect(shown).toEqual(Object.fromEntries(actionNames.map((name) => [name, { disabled: true }])));
});

test('README.md lists each action', () => {
  for (const name of actionNames) expect(luaOf('README.md')).toContain(`| \`${name}\` |`);
});
