{{- define "redis.fullname" -}}
{{- list .Release.Name .Chart.Name | uniq | join "-" | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- define "redis.selector" -}}
app: {{ include "redis.fullname" . }}
{{- end -}}
{{- define "redis.nodes" -}}
{{- $full := include "redis.fullname" . -}}
{{- $hosts := list -}}
{{- range $i := until (int .Values.replicas) -}}
{{- $hosts = printf "%s-%d.%s-hl.%s.svc:%d" $full $i $full $.Release.Namespace (int $.Values.ports.redis) | append $hosts -}}
{{- end -}}
{{- join "," $hosts -}}
{{- end -}}
{{- define "redis.acl" -}}
{{- range . }}
user {{ .name }} on >{{ printf "%s-pass" .name | sha1sum | trunc 10 }}{{ range .keys }} ~{{ . }}{{ end }}{{ range .commands }} {{ . }}{{ end }}
{{- end }}
{{- end -}}
