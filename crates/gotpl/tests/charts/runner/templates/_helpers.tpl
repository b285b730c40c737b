{{- define "runner.toml" -}}
concurrent = {{ .Values.concurrent }}
check_interval = {{ .Values.checkInterval }}
shutdown_timeout = {{ durationSeconds .Values.shutdownTimeout }}
{{- range $i, $r := .Values.runners }}

[[runners]]
  name = {{ $r.name | quote }}
  url = {{ $.Values.gitlabUrl | trimSuffix "/" | quote }}
  executor = {{ $r.executor | quote }}
  environment = [{{ range $j, $e := $.Values.envVars }}{{ if $j }}, {{ end }}{{ printf "%s=%s" $e.name $e.value | quote }}{{ end }}]
  [runners.kubernetes]
    namespace = {{ $.Release.Namespace | quote }}
    privileged = {{ $r.privileged }}
    {{- with $r.limits }}
    {{- range $k, $v := . }}
    {{ $k }}_limit = {{ $v | quote }}
    {{- end }}
    {{- end }}
    {{- with $r.nodeSelector }}
    [runners.kubernetes.node_selector]
      {{- range $k, $v := . }}
      {{ $k | quote }} = {{ $v | quote }}
      {{- end }}
    {{- end }}
    {{- with $r.tolerations }}
    [runners.kubernetes.node_tolerations]
      {{- range $k, $v := . }}
      {{ $k | quote }} = {{ $v | default "NoExecute" | quote }}
      {{- end }}
    {{- end }}
  {{- if $r.cache }}
  [runners.cache]
    Type = {{ $r.cache.type | quote }}
    {{- with index $r.cache $r.cache.type }}
    [runners.cache.{{ $r.cache.type }}]
      ServerAddress = {{ .server | quote }}
      BucketName = {{ .bucket | quote }}
      Insecure = {{ .insecure | default false }}
    {{- end }}
  {{- end }}
{{- end }}
{{- end -}}
{{- define "runner.tags" -}}
{{- $tags := list -}}
{{- range splitList "," .Values.tags -}}{{- $tags = append $tags (trim .) -}}{{- end -}}
{{- $tags | join "," -}}
{{- end -}}
