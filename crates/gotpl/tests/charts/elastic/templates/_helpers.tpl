{{/* Half of the memory for the heap, in MiB, at most 31 GiB. */}}
{{- define "elastic.heap" -}}
{{- $mib := 0 -}}
{{- if hasSuffix "Gi" . -}}{{- $mib = mul 1024 (trimSuffix "Gi" . | int) -}}
{{- else if hasSuffix "Mi" . -}}{{- $mib = trimSuffix "Mi" . | int -}}
{{- end -}}
{{- min (div $mib 2) 31744 -}}m
{{- end -}}
{{- define "elastic.masters" -}}
{{- $names := list -}}
{{- range $set := .Values.nodeSets -}}
{{- if has "master" $set.roles -}}
{{- range $i := until (int $set.count) -}}
{{- $names = append $names (printf "%s-%s-%d" $.Release.Name $set.name $i) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $names -}}
{{- end -}}
{{- define "elastic.yml" -}}
cluster.name: {{ .root.Values.clusterName }}
cluster.initial_master_nodes: {{ include "elastic.masters" .root }}
node.roles: [ {{- range $i, $r := .set.roles }}{{ if $i }}, {{ end }}{{ $r }}{{ end -}} ]
{{- range $k, $v := .set.attrs }}
node.attr.{{ $k }}: {{ $v }}
{{- end }}
{{- range $k, $v := .root.Values.config }}
{{ $k }}: {{ $v }}
{{- end }}
{{- end -}}
