{{- define "batch.excluded" -}}
{{- $combo := .combo -}}
{{- range .exclude -}}
{{- $hit := true -}}
{{- range $k, $v := . -}}
{{- if ne (get $combo $k | toString) ($v | toString) -}}{{- $hit = false -}}{{- end -}}
{{- end -}}
{{- if $hit -}}yes{{- break -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- define "batch.volumes" -}}
{{- range $name, $v := . }}
- name: {{ $name }}
  persistentVolumeClaim:
    claimName: {{ $v.claim }}
    {{- if $v.readOnly }}
    readOnly: true
    {{- end }}
{{- end }}
{{- end -}}
