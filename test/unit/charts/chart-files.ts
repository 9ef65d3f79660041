/**
 * The templates of the Helm charts in `charts/`, from `manifests/` and `crds/`. `npm run charts` writes them anew. Where a value decides, a part
 * of a manifest is replaced (edits.ts); all else stays as it is written there. Written by hand: `values.yaml`, `values.schema.json`, `README.md`.
 */
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { version } from '../../../src/cli/version.ts';
import { edited, literally, placed, when } from './edits.ts';
import { operators, page } from './workloads.ts';

const root = path.join(import.meta.dirname, '../../..');
const textOf = (file: string) => readFileSync(path.join(root, file), 'utf8');
const manifest = (file: string) => literally(textOf(`manifests/${file}`));

const header = '{{- /* Made by `npm run charts` from manifests/ and crds/; not to be edited. */ -}}\n';

function chartYaml(name: string, description: string): string {
  return [
    '# Made by `npm run charts`; not to be edited.',
    'apiVersion: v2',
    `name: ${name}`,
    `description: ${description}`,
    'type: application',
    `version: ${version}`,
    `appVersion: "${version}"`,
    'kubeVersion: ">=1.31.0-0"',
    '',
  ].join('\n');
}

const helpers = `{{- define "fleetkeeper.image" -}}
{{- $repository := required "image.repository is missing: no image is published, so push yours and give its address" .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{ $repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ $repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{- /* The Leases of the operators: one per shard. */ -}}
{{- define "fleetkeeper.leases" -}}
{{- if gt (int .Values.shards) 1 -}}
{{- range $shard := until (int .Values.shards) }}{{ if $shard }}, {{ end }}fleetkeeper-{{ if eq (default "account" $.Values.shardBy) "namespace" }}ns-{{ end }}{{ $shard }}-of-{{ $.Values.shards }}{{ end -}}
{{- else -}}
fleetkeeper
{{- end -}}
{{- end }}
`;

const leases = {
  from: 'resourceNames: [fleetkeeper]',
  to: 'resourceNames: [{{ include "fleetkeeper.leases" . }}]',
};

/** A binding everywhere, or one in each namespace that is watched. */
function boundWhereWatched(file: string, binding: string): string {
  const everywhere = placed(binding);
  const one = edited(file, everywhere, [
    { from: 'kind: ClusterRoleBinding', to: 'kind: RoleBinding' },
    { from: /^metadata:\n( {2}name: .*\n)/gm, to: 'metadata:\n$1  namespace: {{ . | quote }}\n' },
  ]);
  return [
    `{{- if .Values.watchNamespaces }}\n{{- range .Values.watchNamespaces }}\n---\n${one}{{- end }}\n`,
    `{{- else }}\n---\n${everywhere}{{- end }}\n`,
  ].join('');
}

/** Of files with a ClusterRole, its binding, and perhaps more. */
function rights(file: string): string {
  const [role = '', binding = '', ...more] = manifest(file).split(/^---\n/m);
  const rest = more.map((document) => `---\n${placed(document)}`).join('');
  return `${role}${boundWhereWatched(file, binding)}${rest}`;
}

function networkPolicy(file: string): string {
  const ports = `        {{- range .Values.networkPolicy.extraPorts }}
        - port: {{ . }}
          protocol: TCP
        {{- end }}
`;
  const text = placed(manifest(file));
  const policy = edited(file, text, [{ from: /(- port: 6443\n +protocol: TCP\n)$/g, to: `$1${ports}` }]);
  return when('.Values.networkPolicy.enabled', policy);
}

function pageFiles(): string {
  const folder = 'components/page';
  const parts = [
    placed(manifest(`${folder}/service-account.yaml`)),
    edited('page/rights.yaml', rights(`${folder}/rights.yaml`), [leases]),
    page(manifest(`${folder}/deployment.yaml`)),
    placed(manifest(`${folder}/service.yaml`)),
  ];
  const more = [
    when(
      '.Values.page.kubernetesAuth',
      `---\n${placed(manifest('components/page-kubernetes-auth/reviews.yaml'))}`,
    ),
    networkPolicy(`${folder}/network-policy.yaml`).replace('}}\n', '}}\n---\n'),
  ];
  return when('.Values.page.enabled', `${parts.join('---\n')}${more.join('')}`);
}

const dashboard = `apiVersion: v1
kind: ConfigMap
metadata:
  name: fleetkeeper-dashboard
  namespace: {{ .Release.Namespace | quote }}
  labels:
    app.kubernetes.io/part-of: fleetkeeper
    grafana_dashboard: "1"
data:
  fleetkeeper.json: |
    {{- .Files.Get "files/dashboard.json" | nindent 4 }}
`;

function monitoring(): string {
  const folder = 'components/monitoring';
  const parts = [`${folder}/pod-monitor.yaml`, `${folder}/alerts.yaml`].map((file) => placed(manifest(file)));
  return when('.Values.monitoring.enabled', [...parts, dashboard].join('---\n'));
}

/** Without it, to remove the chart would delete every object, and so every service. */
function kept(file: string, definition: string): string {
  return edited(file, literally(definition), [
    { from: /^metadata:\n/gm, to: 'metadata:\n  annotations:\n    helm.sh/resource-policy: keep\n' },
  ]);
}

function definitions(): [string, string][] {
  return globSync('crds/*.yaml', { cwd: root })
    .filter((file) => !file.endsWith('kustomization.yaml'))
    .sort()
    .map((file) => {
      const name = path.basename(file);
      return [`fleetkeeper-crds/templates/${name}`, `${header}${kept(file, textOf(file))}`];
    });
}

function templates(): [string, string][] {
  const files: readonly (readonly [string, string])[] = [
    ['service-account.yaml', placed(manifest('operator/service-account.yaml'))],
    [
      'own-namespace.yaml',
      edited('own-namespace.yaml', placed(manifest('operator/own-namespace.yaml')), [leases]),
    ],
    ['network-policy.yaml', networkPolicy('operator/network-policy.yaml')],
    ['service.yaml', placed(manifest('operator/service.yaml'))],
    ['fleets.yaml', rights('cluster-wide/fleets.yaml')],
    ['cluster-identity.yaml', placed(manifest('cluster-wide/cluster-identity.yaml'))],
    ['people.yaml', manifest('cluster-wide/people.yaml')],
    [
      'operators.yaml',
      operators(manifest('replicas/deployment.yaml'), manifest('replicas/disruption-budget.yaml')),
    ],
    ['page.yaml', pageFiles()],
    ['monitoring.yaml', monitoring()],
  ];
  return files.map(([name, text]) => [`fleetkeeper/templates/${name}`, `${header}${text}`]);
}

/** By their path in `charts/`. */
export function chartFilesAsDeclared(): Map<string, string> {
  return new Map([
    ['fleetkeeper/Chart.yaml', chartYaml('fleetkeeper', 'The operator of Fleetkeeper')],
    ['fleetkeeper/files/dashboard.json', textOf('manifests/components/monitoring/dashboard.json')],
    ['fleetkeeper/templates/_helpers.tpl', `${header}${helpers}`],
    ...templates(),
    ['fleetkeeper-crds/Chart.yaml', chartYaml('fleetkeeper-crds', 'The kinds of Fleetkeeper')],
    ...definitions(),
  ]);
}

const byHand = /\/(values\.yaml|values\.schema\.json|README\.md)$/;

export function chartFilesAsTheyAre(): Map<string, string> {
  const cwd = path.join(root, 'charts');
  const files = globSync('*/**/*.*', { cwd }).filter((file) => !byHand.test(`/${file}`));
  return new Map(files.sort().map((file) => [file, textOf(`charts/${file}`)]));
}

if (import.meta.main) {
  for (const file of chartFilesAsTheyAre().keys()) rmSync(path.join(root, 'charts', file));
  for (const [file, text] of chartFilesAsDeclared()) {
    const target = path.join(root, 'charts', file);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, text);
  }
}
