{{- define "ic.fullname" -}}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}{{- end -}}
{{- define "ic.controller" -}}{{ printf "%s-%s" (include "ic.fullname" .) .Values.controller.name }}{{- end -}}
{{- define "ic.image" -}}
{{- $i := .Values.controller.image -}}
{{- $name := $i.image -}}
{{- if $i.chroot -}}{{- $name = printf "%s-chroot" $name -}}{{- end -}}
{{- printf "%s/%s:%s%s" $i.registry $name $i.tag (empty $i.digest | ternary "" (printf "@%s" $i.digest)) -}}
{{- end -}}
{{- define "ic.params" -}}
- /controller
- --publish-service=$(POD_NAMESPACE)/{{ include "ic.controller" . }}
- --election-id={{ include "ic.fullname" . }}-leader
- --controller-class={{ .Values.controller.ingressClass.controllerValue }}
- --configmap=$(POD_NAMESPACE)/{{ include "ic.controller" . }}
{{- if .Values.controller.tcp }}
- --tcp-services-configmap=$(POD_NAMESPACE)/{{ include "ic.fullname" . }}-tcp
{{- end }}
{{- if .Values.controller.udp }}
- --udp-services-configmap=$(POD_NAMESPACE)/{{ include "ic.fullname" . }}-udp
{{- end }}
{{- if not .Values.controller.metrics.enabled }}
- --enable-metrics=false
{{- end }}
{{- range $key, $value := .Values.controller.extraArgs }}
{{- if $value }}
- --{{ $key }}={{ $value }}
{{- else }}
- --{{ $key }}
{{- end }}
{{- end }}
{{- end -}}
{{- define "ic.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end -}}
{{- define "ic.pod" -}}
metadata:
  labels:
    {{- include "ic.labels" . | nindent 4 }}
spec:
  {{- with .Values.controller.extraInit }}
  initContainers: {{ toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: {{ .Values.controller.name }}
      image: {{ include "ic.image" . }}
      {{- with .Values.controller.lifecycle }}
      lifecycle: {{ toYaml . | nindent 8 }}
      {{- end }}
      args: {{ include "ic.params" . | nindent 8 }}
      ports:
        {{- range $key, $value := .Values.controller.containerPort }}
        - name: {{ $key }}
          containerPort: {{ $value }}
          protocol: TCP
          {{- if $.Values.controller.hostPort.enabled }}
          hostPort: {{ index $.Values.controller.hostPort.ports $key | default $value }}
          {{- end }}
        {{- end }}
        {{- range $key, $value := .Values.controller.tcp }}
        - name: {{ printf "%s-tcp" ($key | toString) }}
          containerPort: {{ $key }}
        {{- end }}
{{- end -}}
