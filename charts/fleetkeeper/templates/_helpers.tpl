{{- /* Made by `npm run charts` from manifests/ and crds/; not to be edited. */ -}}
{{- define "fleetkeeper.image" -}}
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
