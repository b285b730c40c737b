{{- define "mail.domains" -}}{{ keys .Values.domains | sortAlpha | join ", " }}{{- end -}}
{{- define "mail.rate" -}}
{{- $parts := splitn "/" 2 . -}}
{{- $count := $parts._0 | int -}}
{{- $seconds := durationSeconds $parts._1 -}}
{{- printf "%d per %vs, %.3f/s" $count $seconds (divf $count $seconds) -}}
{{- end -}}
