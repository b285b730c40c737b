Reusable partial template {{ .spec.someVar }}.
The keys do not have to match GVKs owned by this Stack,
permitting this use case.
