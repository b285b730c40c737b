{{- define "game.ready" -}}
{{- $buffer := mulf .size .buffer | ceil | int -}}
{{- min .size $buffer -}}
{{- end -}}
{{- define "game.ini" -}}
{{- range $k, $v := . }}
{{- if kindIs "slice" $v }}
{{- range $v }}
+{{ $k | title }}={{ . }}
{{- end }}
{{- else if kindIs "bool" $v }}
{{ $k | title }}={{ $v | toString | title }}
{{- else if kindIs "string" $v }}
{{ $k | title }}={{ $v | quote }}
{{- else }}
{{ $k | title }}={{ $v }}
{{- end }}
{{- end }}
{{- end -}}
