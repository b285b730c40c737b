//! YAML read and written exactly as Kubernetes does.
