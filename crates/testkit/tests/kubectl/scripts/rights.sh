# Who may do what, and who is who.
kubectl create namespace rights
kubectl config set-context --current --namespace rights >/dev/null
kubectl auth whoami --as alice --as-group devs -o yaml
kubectl auth can-i get pods
kubectl auth can-i get pods --as alice
kubectl get pods --as alice
kubectl create role reader --verb get,list,watch --resource configmaps,deployments.apps
kubectl get role reader -o yaml
kubectl describe role reader
kubectl create rolebinding alice --role reader --user alice
kubectl get rolebinding alice -o wide
kubectl describe rolebinding alice
kubectl auth can-i list configmaps --as alice
kubectl auth can-i delete configmaps --as alice
kubectl auth can-i list configmaps --as alice -n default
kubectl auth can-i get /version --as alice
kubectl auth can-i get /metrics --as alice
kubectl auth can-i nonsense pods
kubectl auth can-i get nonsense
kubectl auth can-i --list --as alice | sort
kubectl get configmaps --as alice -o name
kubectl delete configmap kube-root-ca.crt --as alice
kubectl create serviceaccount robot
kubectl create clusterrolebinding rights-robot --clusterrole view --serviceaccount rights:robot
kubectl auth can-i list pods --as system:serviceaccount:rights:robot
kubectl auth can-i list secrets --as system:serviceaccount:rights:robot
kubectl auth can-i create pods --as system:serviceaccount:rights:robot
kubectl create token robot --duration 10m | cut -c 1-2
kubectl --kubeconfig /dev/null --server "$(kubectl config view --minify -o 'jsonpath={.clusters[0].cluster.server}')" --insecure-skip-tls-verify --token "$(kubectl create token robot)" auth whoami -o 'jsonpath={.status.userInfo.username} {.status.userInfo.groups}'
kubectl create role escalate --verb get --resource secrets --as alice
kubectl create clusterrole nodes --verb get --resource nodes --dry-run=server -o yaml
kubectl delete rolebinding alice
kubectl auth can-i list configmaps --as alice
kubectl auth reconcile -f - <<EOF
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: rights}
rules:
- {apiGroups: [""], resources: [secrets], verbs: [get]}
EOF
kubectl get clusterroles admin edit view cluster-admin -o name
kubectl get clusterrole view -o 'jsonpath={.aggregationRule}'
