{{/* One property from its short form TYPE[:A[:B]]. */}}
{{- define "operator.property" -}}
{{- $list := hasPrefix "[]" . -}}
{{- $parts := splitList ":" (trimPrefix "[]" .) -}}
{{- $type := first $parts -}}
{{- $p := dict "type" $type -}}
{{- if and (eq $type "integer") (gt (len $parts) 2) -}}
{{- $_ := set $p "minimum" (index $parts 1 | atoi) -}}
{{- $_ := set $p "maximum" (index $parts 2 | atoi) -}}
{{- else if and (eq $type "string") (gt (len $parts) 1) -}}
{{- $_ := set $p "pattern" (rest $parts | join ":") -}}
{{- end -}}
{{- if $list -}}{{- $p = dict "type" "array" "items" $p -}}{{- end -}}
{{- toYaml $p -}}
{{- end -}}
{{- define "operator.gates" -}}
{{- $gates := list -}}
{{- range $gate, $on := .Values.featureGates -}}
{{- $gates = printf "%s=%t" $gate $on | append $gates -}}
{{- end -}}
{{- join "," $gates -}}
{{- end -}}
