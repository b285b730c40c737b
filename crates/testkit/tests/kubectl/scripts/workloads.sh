# Workloads as kubectl makes them, most of them in protobuf. Where a controller of the real cluster would act at once,
# a dry run shows what the server makes of them.
kubectl create namespace workloads
kubectl config set-context --current --namespace workloads >/dev/null
kubectl get serviceaccount default -o name 2>/dev/null || kubectl wait --for=create serviceaccount/default --timeout=30s
kubectl run p --image registry.example.com/p:1 --port 80 --env A=b --labels app=p --restart Never
kubectl get pod p
kubectl get pods -o wide --show-labels
kubectl get pod p -o yaml | sed 's/kube-api-access-[a-z0-9]*/kube-api-access/'
kubectl describe pod p | sed 's/kube-api-access-[a-z0-9]*/kube-api-access/'
kubectl get pods --field-selector status.phase=Pending -o name
kubectl get pods -A -l app=p
kubectl label pod p tier=one
kubectl set image pod/p p=registry.example.com/p:2
kubectl get pod p -o 'jsonpath={.spec.containers[0].image}'
kubectl expose pod p --port 80 --name web
kubectl get service web -o yaml
kubectl describe service web
kubectl create deployment d --image i:1 --replicas 2 --dry-run=server -o yaml
kubectl create job j --image i --dry-run=server -o yaml
kubectl create cronjob c --image i --schedule '*/5 * * * *' -o yaml
kubectl get cronjobs
kubectl create ingress i --rule 'a.example.com/x*=web:80' --class nginx
kubectl get ingress
kubectl describe ingress i
kubectl create poddisruptionbudget b --selector app=p --min-available 1
kubectl get pdb
kubectl create priorityclass high-workloads --value 5 --description 'for tests'
kubectl get priorityclass high-workloads
kubectl create secret tls t --cert /dev/null --key /dev/null
kubectl create secret docker-registry d --docker-server r.example.com --docker-username u --docker-password p
kubectl get secret d -o jsonpath={.type}
kubectl create quota q --hard=pods=3,cpu=2
kubectl create configmap files --from-file=kubeconfig=/etc/hostname -o jsonpath={.metadata.name}
kubectl apply -f - <<EOF
apiVersion: v1
kind: Node
metadata: {name: workloads-node, labels: {kubernetes.io/hostname: workloads-node}}
EOF
kubectl get node workloads-node
kubectl cordon workloads-node
kubectl taint node workloads-node k=v:NoSchedule
kubectl get node workloads-node -o jsonpath={.spec.unschedulable}
kubectl uncordon workloads-node
kubectl annotate node workloads-node a=b
kubectl delete node workloads-node
kubectl apply -f - <<EOF
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: claim}
spec: {storageClassName: none, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1024Mi}}}
EOF
kubectl get pvc
kubectl describe pvc claim | grep -v Finalizers
kubectl autoscale deployment d --min 1 --max 3 --cpu 50% -o jsonpath={.spec}
kubectl get hpa
EDITOR='sed -i s/b/changed/' kubectl edit configmap files >/dev/null 2>&1 || true
kubectl get configmap files -o jsonpath={.metadata.name}
timeout 2 kubectl get pods --watch --no-headers | head -1
kubectl get pods p none
kubectl get pod/p service/web secret/d -o name
kubectl delete pod p --grace-period 0
kubectl delete service,ingress,pdb --all
kubectl delete priorityclass high-workloads
kubectl delete cronjob c --cascade=orphan
kubectl get cronjobs
