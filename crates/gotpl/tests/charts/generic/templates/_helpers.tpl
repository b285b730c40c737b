{{- define "generic.image" -}}
{{- $image := merge (dict) .component.image .root.Values.global.image -}}
{{- $tag := $image.tag | default .root.Chart.AppVersion -}}
image: {{ list $image.registry $image.name | join "/" }}:{{ $tag }}
imagePullPolicy: {{ $image.pullPolicy }}
{{- end -}}
{{- define "generic.labels" -}}
app: {{ .name }}
release: {{ .root.Release.Name }}
{{- range $k, $v := .root.Values.global.labels }}
{{ $k }}: {{ $v }}
{{- end }}
{{- end -}}
{{- define "generic.env" -}}
{{- $env := merge (dict) (.component.env | default dict) .root.Values.global.env -}}
{{- range $k := keys $env | sortAlpha }}
- name: {{ $k }}
  value: {{ tpl (get $env $k | toString) $.root | quote }}
{{- end }}
{{- end -}}
{{- define "generic.probe" -}}
httpGet:
  path: {{ .path }}
  port: {{ .port }}
{{- with omit . "path" "port" }}
{{ toYaml . }}
{{- end }}
{{- end -}}
{{- define "generic.container" -}}
- name: {{ .name }}
  {{- include "generic.image" . | nindent 2 }}
  {{- with .component.command }}
  command: {{ tpl . $.root | splitList " " | toJson }}
  {{- end }}
  {{- if .component.ports }}
  ports:
    {{- range $n, $p := .component.ports }}
    - name: {{ $n }}
      containerPort: {{ $p }}
    {{- end }}
  {{- end }}
  env: {{- include "generic.env" . | nindent 4 }}
  {{- with .component.envFrom }}
  envFrom:
    {{- range .secrets }}
    - secretRef: { name: {{ . }} }
    {{- end }}
    {{- range .configMaps }}
    - configMapRef: { name: {{ . }} }
    {{- end }}
  {{- end }}
  {{- range $kind, $probe := .component.probes }}
  {{ $kind }}Probe: {{- include "generic.probe" $probe | nindent 4 }}
  {{- end }}
  {{- with .component.storage }}
  volumeMounts:
    {{- range $n, $s := . }}
    - { name: {{ $n }}, mountPath: {{ $s.mount }} }
    {{- end }}
  {{- end }}
{{- end -}}
