{{/* Gibibytes of a quantity such as 100Gi or 1Ti. */}}
{{- define "storage.gib" -}}
{{- $n := regexFind "^[0-9]+" . | int -}}
{{- $unit := regexFind "[A-Za-z]+$" . -}}
{{- if eq $unit "Ti" -}}{{ mul $n 1024 }}
{{- else if eq $unit "Gi" -}}{{ $n }}
{{- else if eq $unit "Mi" -}}{{ div $n 1024 }}
{{- else -}}{{ fail (printf "unknown unit %q in %q" $unit .) }}
{{- end -}}
{{- end -}}
{{- define "storage.modes" -}}
{{- $names := .names -}}
{{- range .modes }}
- {{ get $names . | default . }}
{{- end }}
{{- end -}}
