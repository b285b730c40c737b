{{- define "pg.name" -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- end -}}

{{- define "pg.primary" -}}{{ include "pg.name" . }}-primary{{- end -}}
{{- define "pg.replica" -}}{{ include "pg.name" . }}-read{{- end -}}

{{- define "pg.labels" -}}
{{- $ctx := index . 0 -}}
{{- $component := index . 1 -}}
{{- $base := dict "app.kubernetes.io/name" $ctx.Chart.Name "app.kubernetes.io/instance" $ctx.Release.Name "app.kubernetes.io/component" $component -}}
{{- $own := index $ctx.Values $component | default dict -}}
{{- merge $base $ctx.Values.commonLabels ($own.labels | default dict) | toYaml -}}
{{- end -}}

{{- define "pg.secretName" -}}
{{- .Values.auth.existingSecret | default (printf "%s-auth" (include "pg.name" .)) -}}
{{- end -}}

{{/* The class to use: "-" means none at all. */}}
{{- define "pg.storageClass" -}}
{{- $class := .persistence.storageClass | default .global.storageClass -}}
{{- if $class -}}
{{- if eq $class "-" -}}
storageClassName: ""
{{- else -}}
storageClassName: {{ $class }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "pg.config" -}}
{{- range $key, $value := . }}
{{- if kindIs "bool" $value }}
{{ $key }} = {{ ternary "on" "off" $value }}
{{- else if kindIs "string" $value }}
{{ $key }} = {{ squote $value }}
{{- else }}
{{ $key }} = {{ $value }}
{{- end }}
{{- end }}
{{- end -}}
