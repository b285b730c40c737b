# The ways of deletion, and waiting for it.
kubectl create namespace deletion
kubectl config set-context --current --namespace deletion >/dev/null
kubectl create configmap owner
kubectl create secret generic child
kubectl patch secret child --type merge -p "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"owner\",\"uid\":\"$(kubectl get cm owner -o jsonpath={.metadata.uid})\"}]}}"
kubectl delete configmap owner --cascade=orphan
kubectl get secret child -o jsonpath={.metadata.ownerReferences}
kubectl create configmap owner
kubectl patch secret child --type merge -p "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"owner\",\"blockOwnerDeletion\":true,\"uid\":\"$(kubectl get cm owner -o jsonpath={.metadata.uid})\"}]}}"
kubectl delete configmap owner --cascade=foreground
kubectl get secret child
kubectl get configmap owner
kubectl create configmap owner
kubectl create secret generic child
kubectl patch secret child --type merge -p "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"owner\",\"uid\":\"$(kubectl get cm owner -o jsonpath={.metadata.uid})\"}]}}"
kubectl delete configmap owner --cascade=background
kubectl wait --for=delete secret/child --timeout=60s; kubectl get secret child
kubectl create configmap held
kubectl patch configmap held --type merge -p '{"metadata":{"finalizers":["e.com/x"]}}'
kubectl delete configmap held --wait=false
kubectl get configmap held -o jsonpath={.metadata.finalizers}
kubectl delete configmap held --timeout=1s
kubectl patch configmap held --type merge -p '{"metadata":{"finalizers":null}}'
kubectl get configmap held
kubectl create configmap a
kubectl delete configmap a --now
kubectl create configmap a
kubectl delete configmap a --force --grace-period=0
kubectl delete configmap a --dry-run=server
kubectl create configmap a
kubectl delete configmap a --dry-run=server
kubectl get configmap a -o name
kubectl delete pods --all
kubectl create -f - <<EOF
apiVersion: v1
kind: Event
metadata: {name: e, namespace: deletion}
involvedObject: {apiVersion: v1, kind: ConfigMap, name: a, namespace: deletion}
reason: Tested
message: it was tested
type: Normal
source: {component: tester}
firstTimestamp: "2026-01-01T00:00:00Z"
lastTimestamp: "2026-01-01T00:00:00Z"
count: 2
EOF
kubectl get events -o custom-columns=REASON:.reason,MESSAGE:.message,COUNT:.count --field-selector reason=Tested
kubectl get events --field-selector involvedObject.name=a --no-headers | sed 's/^[^ ]*  *//'
kubectl describe configmap a
kubectl wait --for=delete configmap/none --timeout=5s
kubectl wait --for=condition=Ready configmap/a --timeout=1s
