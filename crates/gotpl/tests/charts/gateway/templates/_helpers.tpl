{{- define "gateway.route" -}}
name: {{ .route.name }}
match:
  prefix: {{ .route.prefix | quote }}
  {{- with .route.methods }}
  methods: [{{ join ", " . }}]
  {{- end }}
{{- $parts := splitList ":" .route.backend }}
upstream:
  host: {{ first $parts }}
  port: {{ last $parts | int }}
timeout: {{ .route.timeout | default .defaults.timeout }}
timeoutMs: {{ durationMilliseconds (.route.timeout | default .defaults.timeout) }}
{{- if .route.retries }}
retries:
  attempts: {{ .route.retries }}
  codes: {{ list 502 503 504 | toJson }}
{{- end }}
{{- if .route.rateLimit }}
rateLimit: {{ .route.rateLimit | toJson }}
{{- end }}
{{- with .route.auth }}
auth:
  type: {{ .type | upper }}
  {{- $u := urlParse .issuer }}
  issuerHost: {{ $u.host }}
  jwks: {{ urlJoin (dict "scheme" $u.scheme "host" $u.host "path" (printf "%s/protocol/certs" $u.path)) }}
{{- end }}
{{- if hasKey .route "rewrite" }}
rewrite: {{ .route.rewrite }}
{{- end }}
{{- end -}}
{{- define "gateway.plugins" -}}
{{- $all := .plugins }}
{{- range .order }}
{{- if hasKey $all . }}
- name: {{ . }}
  {{- with get $all . }}
  config: {{- toYaml . | nindent 4 }}
  {{- else }}
  config: {}
  {{- end }}
{{- end }}
{{- end }}
{{- end -}}
