# Custom kinds, from the definition to the end.
kubectl create namespace kinds
kubectl config set-context --current --namespace kinds >/dev/null
kubectl apply -f - <<EOF
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.kinds.cairn.test
spec:
  group: kinds.cairn.test
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget, shortNames: [wd], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
    - {name: Colour, type: string, jsonPath: .spec.colour, priority: 1}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
    schema:
      openAPIV3Schema:
        description: A widget is a thing.
        type: object
        properties:
          spec:
            description: What it should be.
            type: object
            required: [size]
            properties:
              size: {type: integer, minimum: 1, description: How large it is.}
              colour: {type: string, enum: [red, blue], default: red, description: How it looks.}
          status:
            type: object
            properties:
              size: {type: integer}
              ready: {type: boolean}
EOF
kubectl wait --for=condition=Established crd/widgets.kinds.cairn.test --timeout=60s
kubectl wait --for=create widget/none --timeout=1s 2>/dev/null || true
kubectl get crd widgets.kinds.cairn.test
kubectl api-resources --api-group kinds.cairn.test
kubectl create -f - <<EOF
apiVersion: kinds.cairn.test/v1
kind: Widget
metadata: {name: a}
spec: {size: 3}
EOF
kubectl get widgets
kubectl get wd a -o wide
kubectl get widget a -o yaml
kubectl get all
kubectl create -f - <<EOF
apiVersion: kinds.cairn.test/v1
kind: Widget
metadata: {name: b}
spec: {size: 0, colour: green}
EOF
kubectl create -f - <<EOF
apiVersion: kinds.cairn.test/v1
kind: Widget
metadata: {name: b}
spec: {colour: red, weight: 5}
EOF
kubectl patch widget a --type merge -p '{"spec":{"size":5}}'
kubectl patch widget a -p '{"spec":{"size":5}}'
kubectl patch widget a --subresource status --type merge -p '{"status":{"ready":true}}'
kubectl get widget a -o 'jsonpath={.spec.size} {.status.ready} {.metadata.generation}'
kubectl wait --for=jsonpath='{.status.ready}'=true widget/a --timeout=10s
kubectl scale widget a --replicas 7
kubectl get widget a -o jsonpath={.spec.size}
kubectl get widget a --subresource status -o jsonpath={.status}
kubectl label widget a tier=one
kubectl get widgets -l tier=one -o name
kubectl describe widget a
kubectl explain widget
kubectl explain widget.spec
kubectl explain widget.spec.size
kubectl explain widget.spec --recursive
kubectl explain widget.nonsense
kubectl explain deployment.spec.strategy
kubectl explain pods --recursive | head -40
kubectl explain configmap.data
kubectl explain nonsense
kubectl apply --server-side -f - <<EOF
apiVersion: kinds.cairn.test/v1
kind: Widget
metadata: {name: s}
spec: {size: 2}
EOF
kubectl apply -f - <<EOF
apiVersion: kinds.cairn.test/v1
kind: Wdget
metadata: {name: s}
EOF
kubectl create -f - <<EOF
apiVersion: nobody.cairn.test/v1
kind: Widget
metadata: {name: s}
EOF
kubectl delete widget a
kubectl delete widget --all
kubectl delete crd widgets.kinds.cairn.test
kubectl get widgets
kubectl get crd widgets.kinds.cairn.test
