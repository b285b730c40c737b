{{- define "sidecars.volumes" -}}
{{- range $name, $spec := .Values.volumes }}
- name: {{ $name }}
  {{- tpl (toYaml $spec) $ | nindent 2 }}
{{- end }}
{{- end -}}
{{- define "sidecars.meshAnnotations" -}}
{{- range $k, $v := .Values.mesh.annotations }}
{{- if kindIs "slice" $v }}
mesh.example.com/{{ $k | kebabcase }}: {{ join "," $v | quote }}
{{- else }}
mesh.example.com/{{ $k | kebabcase }}: {{ $v | quote }}
{{- end }}
{{- end }}
{{- end -}}
{{- define "sidecars.container" -}}
- name: {{ required "a sidecar needs a name" .name }}
  image: {{ required (printf "sidecar %s needs an image" .name) .image }}
  {{- range $field := list "command" "ports" "resources" "volumeMounts" }}
  {{- if hasKey $ $field }}
  {{ $field }}:
    {{- get $ $field | toYaml | nindent 4 }}
  {{- end }}
  {{- end }}
{{- end -}}
