{{- define "overrides.flatten" -}}
{{- $prefix := .prefix -}}
{{- range $k, $v := .value -}}
{{- $path := ternary $k (printf "%s.%s" $prefix $k) (empty $prefix) -}}
{{- if kindIs "map" $v -}}
{{- include "overrides.flatten" (dict "prefix" $path "value" $v) -}}
{{- else if kindIs "slice" $v -}}
{{- range $i, $e := $v }}
{{ $path }}[{{ $i }}]={{ $e }}
{{- end -}}
{{- else }}
{{ $path }}={{ $v }}
{{- end -}}
{{- end -}}
{{- end -}}
{{- define "overrides.env" -}}
{{- mergeOverwrite (deepCopy .base) (deepCopy .over) | toYaml -}}
{{- end -}}
