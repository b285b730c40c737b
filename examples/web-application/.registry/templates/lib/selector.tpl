app.kubernetes.io/name: {{ .metadata.name }}
