# Declarative use: apply on either side, and diff.
kubectl create namespace apply
kubectl config set-context --current --namespace apply >/dev/null
kubectl apply -f - <<EOF
apiVersion: v1
kind: ConfigMap
metadata:
  name: client
  labels: {app: a}
data: {k: v, l: w}
---
apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  selector: {app: a}
  ports: [{name: http, port: 80}]
EOF
kubectl apply -f - <<EOF
apiVersion: v1
kind: ConfigMap
metadata:
  name: client
  labels: {app: a}
data: {k: v, l: w}
EOF
kubectl get configmap client -o yaml
kubectl apply -f - <<EOF
apiVersion: v1
kind: ConfigMap
metadata:
  name: client
data: {k: changed}
EOF
kubectl get configmap client -o jsonpath={.data}{.metadata.labels}
kubectl diff -f - <<EOF | sed 's/^\(---\|+++\).*/\1/; /^diff/d'
apiVersion: v1
kind: ConfigMap
metadata:
  name: client
data: {k: other}
EOF
kubectl apply -f - --dry-run=server -o jsonpath={.data} <<EOF
apiVersion: v1
kind: ConfigMap
metadata:
  name: client
data: {k: dry}
EOF
kubectl apply --server-side -f - <<EOF
apiVersion: v1
kind: ConfigMap
metadata:
  name: server
data: {k: v}
EOF
kubectl apply --server-side -f - <<EOF
apiVersion: v1
kind: ConfigMap
metadata:
  name: server
data: {k: v}
EOF
kubectl apply --server-side --field-manager other -f - <<EOF
apiVersion: v1
kind: ConfigMap
metadata:
  name: server
data: {k: taken}
EOF
kubectl apply --server-side --field-manager other --force-conflicts -f - <<EOF
apiVersion: v1
kind: ConfigMap
metadata:
  name: server
data: {k: taken}
EOF
kubectl get configmap server -o yaml --show-managed-fields
kubectl apply --server-side -f - <<EOF
apiVersion: v1
kind: ConfigMap
metadata:
  name: client
data: {k: migrated}
EOF
kubectl get configmap client -o yaml --show-managed-fields
kubectl apply -f - <<EOF
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  paused: true
  replicas: 0
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec: {containers: [{name: c, image: "i:1", ports: [{containerPort: 80}]}]}
EOF
kubectl get deployment web
kubectl get deployment web -o wide
kubectl scale deployment web --replicas 2 --current-replicas 0
kubectl scale deployment web --replicas 3 --current-replicas 0
kubectl get deployment web -o jsonpath={.spec.replicas}
kubectl scale deployment web --replicas 0
kubectl set image deployment web c=i:2
kubectl get deployment web -o jsonpath={.spec.template.spec.containers[0].image}
kubectl patch deployment web -p '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"s"}]}}}}'
kubectl get deployment web -o 'jsonpath={.spec.template.spec.containers[*].name}'
kubectl patch deployment web -p '{"spec":{"selector":{"matchLabels":{"other":"x"}}}}'
kubectl apply --validate=strict -f - <<EOF
apiVersion: v1
kind: ConfigMap
metadata:
  name: strict
dat: {k: v}
EOF
kubectl apply --validate=warn -f - <<EOF
apiVersion: v1
kind: ConfigMap
metadata:
  name: warned
dat: {k: v}
EOF
kubectl apply -f - <<EOF
apiVersion: v1
kind: ConfigMap
metadata:
  name: Bad_Name
EOF
kubectl replace -f - <<EOF
apiVersion: v1
kind: ConfigMap
metadata:
  name: server
data: {k: replaced}
EOF
kubectl replace -f - <<EOF
apiVersion: v1
kind: ConfigMap
metadata:
  name: none
EOF
kubectl delete -f - <<EOF
apiVersion: v1
kind: ConfigMap
metadata:
  name: server
EOF
