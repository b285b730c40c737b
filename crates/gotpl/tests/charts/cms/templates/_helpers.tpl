{{- define "cms.fullname" -}}
{{- printf "%s-%s" .Release.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- define "cms.short" -}}
{{- printf "%s-%s" (include "cms.fullname" . | trunc 20 | trimSuffix "-") (include "cms.fullname" . | sha256sum | trunc 6) -}}
{{- end -}}
{{- define "cms.dbHost" -}}
{{- if .Values.db.internal -}}
{{ include "cms.short" . }}-db
{{- else -}}
{{ required "external.host is needed without the internal database" .Values.external.host }}
{{- end -}}
{{- end -}}
{{- define "cms.dsn" -}}
mysql://{{ .Values.db.user }}@{{ include "cms.dbHost" . }}:{{ .Values.db.port }}/{{ .Values.db.name }}?charset={{ "utf8mb4" | urlquery }}
{{- end -}}
{{- define "cms.probe" -}}
{{- $base := dict "httpGet" (dict "path" .path "port" "http") "initialDelaySeconds" 10 "failureThreshold" 3 -}}
{{- mergeOverwrite $base .overrides | toYaml -}}
{{- end -}}
