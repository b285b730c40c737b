{{- define "certs.split" -}}
{{- $dns := list -}}{{- $ips := list -}}
{{- range . -}}
{{- if regexMatch "^([0-9]{1,3}\\.){3}[0-9]{1,3}$" . -}}{{- $ips = append $ips . -}}{{- else -}}{{- $dns = append $dns . -}}{{- end -}}
{{- end -}}
{{- dict "dns" $dns "ips" $ips | toJson -}}
{{- end -}}
{{- define "certs.name" -}}{{ .cn | replace "*" "star" | replace "." "-" | trunc 53 | trimSuffix "-" }}{{- end -}}
