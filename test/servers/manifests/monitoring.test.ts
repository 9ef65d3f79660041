import { spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { collectProcessMetrics, createMetrics } from '../../../src/telemetry/index.ts';
import { manifestsFolder } from '../../support/manifests/render.ts';
import { temporaryFile } from '../../support/temporary.ts';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}

function withoutWords({ groups: all }: typeof groups): object {
  return {
    groups: all.map((group) => ({
      ...group,
      rules: group.rules.map(({ annotations: _words, ...rule }) => rule),
    })),
  };
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
const { spec: groups } = parse(readFileSync(path.join(folder, 'alerts.yaml'), 'utf8')) as {
  spec: { groups: { rules: Rule[] }[] };
};
const rules = groups.groups.flatMap((group) => group.rules);
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

/** Labels that Prometheus or Kubernetes add. */
const added = new Set(['le', 'namespace', 'pod']);

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
    const names = rules.map(({ alert }) => alert);
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

  test.runIf(promtool)('are raised by what they are for, and by nothing less', () => {
    const whole = temporaryFile('whole.yaml');
    const cwd = path.dirname(whole);
    const run = (...args: string[]) => spawnSync('promtool', args, { cwd, encoding: 'utf8' });
    writeFileSync(whole, stringify(groups));
    const checked = run('check', 'rules', '--lint=all', '--lint-fatal', 'whole.yaml');
    expect([checked.stderr, checked.status]).toEqual(['', 0]);
    // The tests are about when, not about words.
    writeFileSync(path.join(cwd, 'rules.yaml'), stringify(withoutWords(groups)));
    copyFileSync(path.join(import.meta.dirname, 'alerts.yaml'), path.join(cwd, 'tests.yaml'));
    const tested = run('test', 'rules', 'tests.yaml');
    expect([tested.stderr, tested.stdout, tested.status]).toEqual([
      '',
      expect.stringContaining('SUCCESS'),
      0,
    ]);
  });

  test('are all tested', () => {
    const { tests } = parse(readFileSync(path.join(import.meta.dirname, 'alerts.yaml'), 'utf8')) as {
      tests: { alert_rule_test: { alertname: string; exp_alerts?: unknown[] }[] }[];
    };
    const raised = tests.flatMap(({ alert_rule_test: each }) =>
      each.filter(({ exp_alerts: alerts = [] }) => alerts.length > 0).map(({ alertname }) => alertname),
    );
    expect([...new Set(raised)].sort()).toEqual(rules.map(({ alert }) => alert).sort());
  });
});

test('the panels of the dashboard stay on it, and have names of their own', () => {
  expect(dashboard.panels.filter(({ gridPos }) => gridPos.x + gridPos.w > 24)).toEqual([]);
  expect(dashboard.panels.length).toBeGreaterThan(20);
});
