{{- define "monitors.labels" -}}
{{- merge (dict "app.kubernetes.io/part-of" .Release.Name) .Values.labels | toYaml -}}
{{- end -}}
{{- define "monitors.endpoint" -}}
{{- if kindIs "string" .port }}
port: {{ .port }}
{{- else }}
targetPort: {{ .port }}
{{- end }}
interval: {{ .interval | default "30s" }}
path: {{ default "/metrics" .path | clean }}
{{- with .relabel }}
relabelings:
  {{- range . }}
  - sourceLabels: [{{ join "," .source }}]
    targetLabel: {{ .target }}
  {{- end }}
{{- end }}
{{- end -}}
