{{- define "queue.cookie" -}}
{{- if .Values.erlangCookie -}}{{ .Values.erlangCookie }}{{- else -}}{{ printf "%s/%s" .Release.Namespace .Release.Name | sha256sum | trunc 32 | upper }}{{- end -}}
{{- end -}}
{{- define "queue.plugins" -}}
{{- concat .Values.plugins (splitList " " .Values.extraPlugins) | uniq | sortAlpha | join ", " -}}
{{- end -}}
{{- define "queue.definitions" -}}
{{- $users := list -}}
{{- $permissions := list -}}
{{- range $name, $user := .Values.users -}}
{{- $users = append $users (dict "name" $name "tags" (join "," $user.tags) "password_hash" (printf "%s:%s" $name ($user.password | default "") | sha256sum | trunc 16)) -}}
{{- range $vhost, $p := $user.permissions | default (dict "/" (dict "configure" ".*" "write" ".*" "read" ".*")) -}}
{{- $permissions = append $permissions (merge (dict "user" $name "vhost" $vhost) $p) -}}
{{- end -}}
{{- end -}}
{{- $vhosts := list -}}
{{- range .Values.vhosts -}}{{- $vhosts = append $vhosts (dict "name" .) -}}{{- end -}}
{{- $queues := list -}}
{{- range .Values.queues -}}
{{- $queues = append $queues (dict "name" .name "vhost" .vhost "durable" (ternary .durable true (hasKey . "durable")) "arguments" (.args | default dict)) -}}
{{- end -}}
{{- $policies := list -}}
{{- range $name, $p := .Values.policies -}}
{{- $policies = append $policies (merge (dict "name" $name "vhost" "/") $p) -}}
{{- end -}}
{{- dict "users" $users "permissions" $permissions "vhosts" $vhosts "queues" $queues "policies" $policies | toPrettyJson -}}
{{- end -}}
