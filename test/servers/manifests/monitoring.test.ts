import { spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { brakeCauses, collectProcessMetrics, createMetrics } from '../../../src/telemetry/index.ts';
import { manifestsFolder } from '../../support/manifests/render.ts';
import { temporaryFile } from '../../support/temporary.ts';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string; readonly cause?: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}

interface Groups {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[];
}

const rulesOf = ({ groups }: Groups) => groups.flatMap((group) => group.rules);

function withoutWords({ groups: all }: Groups): object {
  return {
    groups: all.map((group) => ({
      ...group,
      rules: group.rules.map(({ annotations: _words, ...rule }) => rule),
    })),
  };
}

interface RuleTest {
  readonly alert_rule_test: readonly {
    readonly alertname: string;
    readonly exp_alerts?: readonly unknown[];
  }[];
}

interface Dashboard {
  readonly panels: readonly {
    readonly title: string;
    readonly gridPos: { readonly x: number; readonly w: number };
    readonly targets?: readonly { readonly expr: string }[];
  }[];
  readonly templating: { readonly list: readonly { readonly query: string }[] };
}

const folder = path.join(manifestsFolder, 'components/monitoring');
const { spec: ofCluster } = parse(readFileSync(path.join(folder, 'alerts.yaml'), 'utf8')) as {
  spec: Groups;
};
const contrib = path.join(manifestsFolder, '../contrib/prometheus');
const ofFolder: Groups = {
  groups: ['fleetkeeper.yaml', 'folder.yaml'].flatMap(
    (file) => (parse(readFileSync(path.join(contrib, file), 'utf8')) as Groups).groups,
  ),
};
/** With the tests of promtool. What both have is tested with the first. */
const sets = [
  ['a cluster', ofCluster, ['alerts.yaml']],
  ['a folder', ofFolder, ['folder-alerts.yaml', 'folder-alerts-of-weeks.yaml']],
] as const;
const onlyOfFolders = rulesOf(ofFolder).filter(
  ({ alert }) => !rulesOf(ofCluster).some((rule) => rule.alert === alert),
);
const rules = [...rulesOf(ofCluster), ...onlyOfFolders];
const dashboard = JSON.parse(readFileSync(path.join(folder, 'dashboard.json'), 'utf8')) as Dashboard;

const metrics = createMetrics();
collectProcessMetrics(metrics.registry);
const declared = new Map(
  metrics.registry.getMetricsAsArray().map((metric) => {
    const { name, labelNames } = metric as unknown as { name: string; labelNames: string[] };
    return [name, labelNames] as const;
  }),
);

/** A name that is followed by a selector or a range, or ends like ours; not a label, nor a function. */
function metricsIn(expression: string): string[] {
  const names = expression.matchAll(
    /\b(?:fleetkeeper|controller_runtime|workqueue|leader_election|rest_client|process|nodejs)_[a-z0-9_]+/g,
  );
  return [...names].map(([name]) => name.replace(/_(bucket|sum|count)$/, ''));
}

/** Of these, a manager of a folder has no series. */
const isOfOperators = (name: string) =>
  /^(leader_election|rest_client|fleetkeeper_(lease|watch|kubernetes))_/.test(name);

/** Labels that Prometheus or Kubernetes add. */
const added = new Set(['le', 'namespace', 'pod', 'job', 'instance']);

function labelsIn(expression: string): string[] {
  const grouped = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(', '));
  const selected = [...expression.matchAll(/([a-z_]+)(?:=~|!=|!~|=)"/g)].map(([, name = '']) => name);
  return [...grouped, ...selected].filter((label) => !added.has(label));
}

const expressions = [
  ...rules.map(({ alert, expr }) => [alert, expr] as const),
  ...dashboard.panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const)),
];

test.each(expressions)('"%s" rests on metrics and labels that Fleetkeeper has', (_title, expression) => {
  const named = metricsIn(expression);
  expect(named.length).toBeGreaterThan(0);
  expect(named.filter((name) => !declared.has(name))).toEqual([]);
  const known = new Set(named.flatMap((name) => declared.get(name) ?? []));
  expect(labelsIn(expression).filter((label) => !known.has(label))).toEqual([]);
});

describe('the alerts', () => {
  test('say how bad it is, what is the matter and what to do', () => {
    const names = rules.map(({ alert, labels }) => `${alert} ${labels.cause ?? ''}`);
    expect(new Set(names).size).toBe(names.length);
    for (const { labels, annotations } of rules) {
      expect(['critical', 'warning']).toContain(labels.severity);
      expect(annotations.summary).not.toBe('');
      expect(annotations.description).not.toBe('');
    }
  });

  const promtool = spawnSync('promtool', ['--version']).status === 0;
  if (!promtool)
    process.stderr.write('promtool is not installed (Debian: prometheus): the alerts are NOT tested\n');

  test('of a folder are the common ones, and rest on nothing that only an operator has', () => {
    const [common] = ofCluster.groups;
    expect(ofFolder.groups[0]).toEqual(common);
    expect(rulesOf(ofFolder).filter(({ expr }) => metricsIn(expr).some(isOfOperators))).toEqual([]);
    const others = ofCluster.groups.slice(1).flatMap((group) => group.rules);
    expect(others.filter(({ expr }) => !metricsIn(expr).some(isOfOperators))).toEqual([]);
  });

  test('of a brake are one for each cause, with what it stops and what to do', () => {
    const brakes = rules.filter(({ alert }) => alert === 'FleetkeeperBrakeEngaged');
    expect(brakes.map(({ labels }) => labels.cause)).toEqual([...brakeCauses]);
    const textOf = (cause: string) => {
      const found = brakes.find(({ labels }) => labels.cause === cause);
      expect(found?.expr).toContain(`{cause="${cause}"}`);
      expect(found?.annotations.description).toContain('fleetkeeper.dev/allow-mass-change-until');
      return `${found?.annotations.summary} ${found?.annotations.description}`;
    };
    expect(textOf('source')).toMatch(/creations and deletions are stopped.*Put the documents back/);
    expect(textOf('account')).toMatch(/creations and deletions in it are stopped.*right account/);
    expect(textOf('account')).not.toMatch(/documents/);
    expect(textOf('drift')).toMatch(/is not corrected.*Creations, deletions and edits continue/);
    expect(textOf('drift')).not.toMatch(/stopped|back/);
  });

  test('of activities promise no loss that docs/concepts/protection.md excludes', () => {
    const expiring = rules.find(({ alert }) => alert === 'FleetkeeperActivityExpiring');
    expect(expiring?.labels.severity).toBe('warning');
    expect(expiring?.annotations.description).toContain('An expired record still protects');
    const texts = rules.map(({ annotations }) => `${annotations.summary} ${annotations.description}`);
    expect(texts.filter((text) => /lose (their|its) protection/.test(text))).toEqual([]);
  });

  test.runIf(promtool).each(sets)(
    'of %s are raised by what they are for, and by nothing less',
    (_place, groups, files) => {
      const whole = temporaryFile('whole.yaml');
      const cwd = path.dirname(whole);
      const run = (...args: string[]) => spawnSync('promtool', args, { cwd, encoding: 'utf8' });
      writeFileSync(whole, stringify(groups));
      const checked = run('check', 'rules', '--lint=all', '--lint-fatal', 'whole.yaml');
      expect([checked.stderr, checked.status]).toEqual(['', 0]);
      // The tests are about when, not about words.
      writeFileSync(path.join(cwd, 'rules.yaml'), stringify(withoutWords(groups)));
      for (const file of files) copyFileSync(path.join(import.meta.dirname, file), path.join(cwd, file));
      const tested = run('test', 'rules', ...files);
      expect([tested.stderr, tested.stdout, tested.status]).toEqual([
        '',
        expect.stringContaining('SUCCESS'),
        0,
      ]);
    },
  );

  test('are all tested', () => {
    const tests = sets
      .flatMap(([, , files]) => files)
      .flatMap((file) => {
        const text = readFileSync(path.join(import.meta.dirname, file), 'utf8');
        return (parse(text) as { tests: RuleTest[] }).tests;
      });
    const raised = tests.flatMap(({ alert_rule_test: each }) =>
      each.filter(({ exp_alerts: alerts = [] }) => alerts.length > 0).map(({ alertname }) => alertname),
    );
    expect([...new Set(raised)].sort()).toEqual([...new Set(rules.map(({ alert }) => alert))].sort());
  });
});

test('the panels of the dashboard stay on it, and have names of their own', () => {
  expect(dashboard.panels.filter(({ gridPos }) => gridPos.x + gridPos.w > 24)).toEqual([]);
  expect(dashboard.panels.length).toBeGreaterThan(20);
});
