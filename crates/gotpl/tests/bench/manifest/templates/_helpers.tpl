{{- define "app.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "app.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "app.selectorLabels" -}}
app.kubernetes.io/name: {{ include "app.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "app.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "app.selectorLabels" . }}
{{- with .Chart.AppVersion }}
app.kubernetes.io/version: {{ . | quote }}
{{- end }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- range $key, $value := .Values.commonLabels }}
{{ $key }}: {{ $value | quote }}
{{- end }}
{{- end -}}

{{- define "app.image" -}}
{{- $registry := .global.registry | default .image.registry -}}
{{- printf "%s/%s:%s" $registry .image.repository (.image.tag | default .version | toString) -}}
{{- end -}}

{{- define "app.env" -}}
{{- range $name, $value := . }}
- name: {{ $name | upper | replace "-" "_" }}
  value: {{ $value | quote }}
{{- end }}
{{- end -}}

{{- define "app.probe" -}}
httpGet:
  path: {{ .path | default "/healthz" }}
  port: {{ .port | default "http" }}
initialDelaySeconds: {{ .delay | default 5 }}
periodSeconds: {{ .period | default 10 }}
{{- end -}}

{{- define "app.affinity" -}}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
    - weight: {{ .weight | default 100 }}
      podAffinityTerm:
        topologyKey: {{ .key | default "kubernetes.io/hostname" }}
        labelSelector:
          matchLabels:
            {{- include "app.selectorLabels" .root | nindent 12 }}
{{- end -}}
