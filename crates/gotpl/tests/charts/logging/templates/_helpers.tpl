{{- define "logging.name" -}}
{{- printf "%s-%s" .Release.Name "agent" -}}
{{- end }}
{{- define "logging.image" -}}
{{- if .digest -}}
{{ .repo }}@{{ .digest }}
{{- else -}}
{{ .repo }}:{{ .tag | default "latest" }}
{{- end -}}
{{- end }}
{{- define "logging.section" -}}
[{{ .kind | upper }}]
{{- range $k, $v := .pairs }}
{{- if not (kindIs "invalid" $v) }}
    {{ $k | camelcase | printf "%-16s" }} {{ if kindIs "bool" $v }}{{ ternary "On" "Off" $v }}{{ else }}{{ $v }}{{ end }}
{{- end }}
{{- end }}
{{- end }}
