{{/* The settings of one job: its own laid over the defaults. */}}
{{- define "cronjobs.settings" -}}
{{- mergeOverwrite (deepCopy .defaults) .job | toYaml -}}
{{- end -}}
{{- define "cronjobs.env" -}}
{{- range $name, $value := . }}
- name: {{ $name }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- end -}}
{{- define "cronjobs.name" -}}
{{ printf "%s-%s" .root.Release.Name .name | lower | trunc 52 | trimSuffix "-" }}
{{- end -}}
