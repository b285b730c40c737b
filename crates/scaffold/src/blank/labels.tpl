app.kubernetes.io/name: @SINGULAR@
app.kubernetes.io/instance: {{ .metadata.name | quote }}
