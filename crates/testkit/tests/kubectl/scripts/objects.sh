# Everyday verbs on built-in kinds.
kubectl create namespace objects
kubectl config set-context --current --namespace objects >/dev/null
kubectl get configmaps --selector none=none
kubectl create configmap a --from-literal k=v --from-literal l=w
kubectl create configmap a
kubectl get configmap a
kubectl get cm a -o yaml
kubectl get cm a -o json
kubectl get cm a -o name
kubectl get cm a -o jsonpath={.data.k}
kubectl get cm a -o wide
kubectl get cm a -o custom-columns=NAME:.metadata.name,K:.data.k
kubectl get cm a --show-labels
kubectl get cm none
kubectl get nonsense
kubectl label configmap a x=y
kubectl label configmap a x=z
kubectl label configmap a x=z --overwrite
kubectl label configmap a x-
kubectl annotate configmap a note=hello
kubectl annotate configmap a note=again --overwrite
kubectl annotate configmap a note-
kubectl patch configmap a -p '{"data":{"k":"strategic"}}'
kubectl patch configmap a --type merge -p '{"data":{"k":"merge"}}'
kubectl patch configmap a --type json -p '[{"op":"replace","path":"/data/k","value":"json"}]'
kubectl patch configmap a --type json -p '[{"op":"test","path":"/data/k","value":"other"}]'
kubectl get cm a -o jsonpath={.data}
kubectl create secret generic s --from-literal password=secret
kubectl get secrets
kubectl describe secret s
kubectl create service clusterip web --tcp=80:8080
kubectl get services
kubectl describe configmap a
kubectl get cm,secret,service -o name --field-selector metadata.name!=kube-root-ca.crt
kubectl delete configmap a
kubectl delete configmap a
kubectl delete configmap a --ignore-not-found
kubectl delete secret --all
kubectl delete service web --wait=false
kubectl get all
kubectl create serviceaccount robot
kubectl get serviceaccounts
kubectl create quota q --hard=pods=3
kubectl get quota q -o jsonpath={.spec.hard}
kubectl get namespaces objects default
kubectl get namespace objects -o yaml
kubectl get --raw /healthz
kubectl get --raw /api/v1/namespaces/objects/configmaps/none
kubectl get --raw /nonsense
kubectl version -o yaml | grep -A 12 serverVersion | grep gitVersion
# Another script beside this one has kinds of its own.
kubectl api-versions | grep -v cairn.test
kubectl api-resources | grep -v cairn.test
kubectl api-resources --api-group apps -o wide
kubectl api-resources --namespaced=false -o name | grep -v cairn.test
kubectl cluster-info | head -1 | grep -c running
kubectl delete namespace objects
kubectl get namespace objects
