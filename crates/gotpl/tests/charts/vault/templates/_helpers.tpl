{{- define "vault.mode" -}}
{{- if not .Values.global.enabled -}}external
{{- else if .Values.ha.enabled -}}ha
{{- else -}}standalone
{{- end -}}
{{- end -}}
{{/* Values may be a map or a string that is a template itself. */}}
{{- define "vault.annotations" -}}
{{- $a := .Values.server.annotations -}}
{{- if $a -}}
annotations:
  {{- if typeIs "string" $a }}
  {{- tpl $a . | trim | nindent 2 }}
  {{- else }}
  {{- toYaml $a | nindent 2 }}
  {{- end }}
{{- end -}}
{{- end -}}
{{- define "vault.scheme" -}}{{ if .Values.global.tlsDisable }}http{{ else }}https{{ end }}{{- end -}}
{{- define "vault.hcl" -}}
ui = {{ .Values.ui }}
log_level = "{{ .Values.logLevel }}"
{{- range .Values.listeners }}

listener "tcp" {
  address = {{ .address | quote }}
  {{- $hp := splitn ":" 2 .address }}
  cluster_address = "{{ $hp._0 }}:{{ add (atoi $hp._1) 1 }}"
  tls_disable = {{ not .tls | ternary 1 0 }}
}
{{- end }}

storage {{ .Values.storage.type | quote }} {
  path = {{ .Values.storage.path | quote }}
  {{- range $i := until (int .Values.ha.replicas) }}
  retry_join {
    leader_api_addr = "{{ include "vault.scheme" $ }}://{{ $.Release.Name }}-{{ $i }}.{{ $.Release.Name }}-internal:8200"
  }
  {{- end }}
}
{{- if .Values.seal }}

seal {{ .Values.seal.type | quote }} {
  {{- range $k, $v := get .Values.seal .Values.seal.type }}
  {{ printf "%-10s = %q" $k $v }}
  {{- end }}
}
{{- end }}
{{- end -}}
