/** Templates of what runs: the operators, one Deployment and one PodDisruptionBudget per shard, and the page. */
import { edited, placed, type Edit } from './edits.ts';

const isSharded = 'gt (int $.Values.shards) 1';
// Values that `--reuse-values` keeps from an earlier version of the chart lack it.
const byNamespace = `
            {{- if eq (default "account" $.Values.shardBy) "namespace" }}
            - --shard-by=namespace
            {{- end }}`;
const label = (indent: string) =>
  `\n${indent}{{- if ${isSharded} }}\n${indent}fleetkeeper.dev/shard: "{{ $shard }}"\n${indent}{{- end }}`;

const image: Edit = {
  from: /image: fleetkeeper:\S+/g,
  to: 'image: {{ include "fleetkeeper.image" $ | quote }}',
};

const watched = `
            {{- with $.Values.watchNamespaces }}
            - --watch-namespaces={{ join "," . }}
            {{- end }}`;

/** Selectors and labels tell the pods of shards apart. */
function ofShard(
  file: string,
  text: string,
  { labels, selectors }: { labels: number; selectors: number },
): string {
  return edited(file, placed(text), [
    { from: /^( {2}name: fleetkeeper)$/gm, to: `$1{{ if ${isSharded} }}-{{ $shard }}{{ end }}` },
    { from: /^( +)(app\.kubernetes\.io\/part-of: fleetkeeper)$/gm, to: `$1$2${label('$1')}`, times: labels },
    {
      from: /^( +)(matchLabels:\n +app\.kubernetes\.io\/name: fleetkeeper)$/gm,
      to: `$1$2${label('$1  ')}`,
      times: selectors,
    },
  ]);
}

export function operators(deployment: string, budget: string): string {
  const one = edited('deployment.yaml', ofShard('deployment.yaml', deployment, { labels: 2, selectors: 3 }), [
    image,
    { from: /^ {2}replicas: 2$/gm, to: '  replicas: {{ $.Values.replicas }}' },
    {
      from: '            - --listen=0.0.0.0:8080',
      to: `            - --listen=0.0.0.0:8080
            {{- if ${isSharded} }}
            - --shard={{ $shard }}/{{ $.Values.shards }}${byNamespace}
            {{- end }}${watched}
            {{- if $.Values.notifications.allowPrivate }}
            - --notify-allow-private
            {{- end }}`,
    },
    {
      from: /^( {10}resources:)\n( {12}.*\n)+/gm,
      to: '$1\n            {{- toYaml $.Values.resources | nindent 12 }}\n',
    },
  ]);
  const other = ofShard('disruption-budget.yaml', budget, { labels: 1, selectors: 1 });
  return `{{- range $shard := until (int .Values.shards) }}\n---\n${one}---\n${other}{{- end }}\n`;
}

export function page(deployment: string): string {
  return edited('page/deployment.yaml', placed(deployment), [
    image,
    {
      from: '--page-host=fleetkeeper-page.fleetkeeper-system.svc',
      to: '--page-host=fleetkeeper-page.{{ .Release.Namespace }}.svc',
    },
    {
      from: '            - --page-token-file=/etc/fleetkeeper-page/tokens',
      to: `            {{- if .Values.page.kubernetesAuth }}
            - --page-kubernetes-auth
            {{- else }}
            - --page-token-file=/etc/fleetkeeper-page/tokens
            {{- end }}
            {{- with .Values.page.host }}
            - --page-host={{ . }}
            {{- end }}
            {{- if ${isSharded} }}
            - --shards={{ .Values.shards }}${byNamespace}
            {{- end }}${watched}`,
    },
    {
      from: /^ {12}- name: tokens\n {14}mountPath: .*\n {14}readOnly: true\n/gm,
      to: '            {{- if not .Values.page.kubernetesAuth }}\n$&            {{- end }}\n',
    },
    {
      from: /^ {8}# A token per line\.\n {8}- name: tokens\n {10}secret:\n {12}secretName: .*\n/gm,
      to: '        {{- if not .Values.page.kubernetesAuth }}\n$&        {{- end }}\n',
    },
  ]);
}
