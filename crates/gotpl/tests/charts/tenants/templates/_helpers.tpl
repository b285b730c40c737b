{{- define "tenant.slug" -}}
{{- regexReplaceAll "[^a-z0-9]+" (lower .name) "-" | trimAll "-" | trunc 40 -}}
{{- end -}}
{{- define "tenant.labels" -}}
{{ .prefix }}/tenant: {{ include "tenant.slug" .tenant }}
{{ .prefix }}/owner: {{ .tenant.owner | default "nobody@example.com" | replace "@" "_at_" | quote }}
{{- range $k, $v := .tenant.labels }}
{{ $.prefix }}/{{ $k }}: {{ $v }}
{{- end }}
{{- end -}}
{{- define "tenant.quota" -}}
{{- $q := deepCopy .defaults.quota -}}
{{- if .tenant.quota -}}{{- $q = mergeOverwrite $q .tenant.quota -}}{{- end -}}
{{- range $k, $v := $q }}
{{ if has $k (list "cpu" "memory") }}requests.{{ end }}{{ $k }}: {{ $v | quote }}
{{- end }}
{{- end -}}
