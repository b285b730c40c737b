{{- define "site.server" -}}
server {
  listen 8080;
  server_name {{ .host }}{{ range .site.aliases }} {{ . }}{{ end }};
  root {{ .site.root | clean }};
  {{- range $name, $value := .site.headers }}
  add_header {{ $name }} {{ $value | quote }} always;
  {{- end }}
  {{- range $from, $to := .site.redirects }}
  location = {{ $from | replace " " "\\ " }} { return 301 {{ $to }}; }
  {{- end }}
  location / {
    {{- if .site.spa }}
    try_files $uri $uri/ /index.html;
    {{- else }}
    try_files $uri $uri/ =404;
    {{- end }}
    {{- with .site.cache }}
    expires {{ . }};  # {{ durationSeconds . }}s
    {{- end }}
  }
}
{{- end -}}
