package main

// applyTable is the cases with a name: what a reader of the code would ask first.
const applyTable = `[
{"name": "an object is created by applying it", "steps": [
 {"do": "apply", "manager": "a", "object": {"spec": {"count": 1, "names": ["x", "y"], "boxes": [{"name": "b", "image": "i"}], "ports": [{"port": 80}], "plain": {"k": "v"}, "whole": {"k": "v"}}}},
 {"do": "apply", "manager": "a", "object": {"spec": {"count": 1, "names": ["x", "y"], "boxes": [{"name": "b", "image": "i"}], "ports": [{"port": 80}], "plain": {"k": "v"}, "whole": {"k": "v"}}}}]},
{"name": "what is dropped from the configuration is removed", "steps": [
 {"do": "apply", "manager": "a", "object": {"spec": {"count": 1, "text": "t", "names": ["x", "y"], "boxes": [{"name": "b", "image": "i"}, {"name": "c"}], "plain": {"k": "v", "l": "w"}}}},
 {"do": "apply", "manager": "a", "object": {"spec": {"count": 1, "names": ["y"], "boxes": [{"name": "c"}], "plain": {"l": "w"}}}},
 {"do": "apply", "manager": "a", "object": {}}]},
{"name": "what another applies too stays", "steps": [
 {"do": "apply", "manager": "a", "object": {"spec": {"count": 1, "text": "t", "boxes": [{"name": "b", "image": "i"}]}}},
 {"do": "apply", "manager": "b", "object": {"spec": {"count": 1, "boxes": [{"name": "b", "args": ["x"]}]}}},
 {"do": "apply", "manager": "a", "object": {"spec": {}}}]},
{"name": "what another manages is a conflict unless it is forced", "steps": [
 {"do": "apply", "manager": "a", "object": {"spec": {"count": 1, "text": "t"}}},
 {"do": "apply", "manager": "b", "object": {"spec": {"count": 2}}},
 {"do": "apply", "manager": "b", "object": {"spec": {"count": 2, "text": "u"}}},
 {"do": "apply", "manager": "b", "force": true, "object": {"spec": {"count": 2, "text": "u"}}},
 {"do": "apply", "manager": "a", "object": {"spec": {"text": "t"}}}]},
{"name": "updates are managers too", "steps": [
 {"do": "create", "manager": "c", "object": {"spec": {"count": 1, "strategy": {"type": "x"}, "boxes": [{"name": "b", "image": "i"}]}}},
 {"do": "apply", "manager": "a", "object": {"spec": {"count": 2, "boxes": [{"name": "b", "image": "j"}]}}},
 {"do": "apply", "manager": "a", "force": true, "object": {"spec": {"count": 2, "boxes": [{"name": "b", "image": "j"}]}}},
 {"do": "update", "manager": "c", "object": {"metadata": {"name": "a", "uid": "u1", "labels": {"l": "m"}}, "spec": {"count": 3, "strategy": {"type": "x"}, "boxes": [{"name": "b", "image": "j"}]}}}]},
{"name": "managed fields can be forgotten", "steps": [
 {"do": "create", "manager": "c", "object": {"spec": {"count": 1}}},
 {"do": "update", "manager": "c", "object": {"metadata": {"name": "a", "uid": "u1", "managedFields": [{}]}, "spec": {"count": 2}}},
 {"do": "update", "manager": "c", "object": {"metadata": {"name": "a", "uid": "u1"}, "spec": {"count": 3}}},
 {"do": "apply", "manager": "a", "object": {"spec": {"text": "t"}}},
 {"do": "apply", "manager": "a", "object": {"spec": {"count": 4}}}]},
{"name": "the status is another manager's", "steps": [
 {"do": "create", "manager": "c", "reset": ["status"], "object": {"spec": {"count": 1}, "status": {"phase": "x"}}},
 {"do": "update", "manager": "c", "subresource": "status", "reset": ["spec", "metadata"], "object": {"metadata": {"name": "a", "uid": "u1", "labels": {"l": "m"}}, "spec": {"count": 1}, "status": {"phase": "y", "conditions": [{"type": "Ready", "status": "True", "at": "2026-01-01T00:00:00Z"}]}}},
 {"do": "apply", "manager": "c", "subresource": "status", "reset": ["spec", "metadata"], "object": {"status": {"phase": "z"}}},
 {"do": "apply", "manager": "a", "reset": ["status"], "object": {"spec": {"count": 1}, "status": {"phase": "z"}}}]},
{"name": "what is not as its type wants it is refused", "steps": [
 {"do": "apply", "manager": "a", "object": {"spec": {"nothing": 1}}},
 {"do": "apply", "manager": "a", "object": {"spec": {"count": "one"}}},
 {"do": "apply", "manager": "a", "object": {"spec": {"text": 1}}},
 {"do": "apply", "manager": "a", "object": {"spec": {"text": {"a": [1, "b", null]}}}},
 {"do": "apply", "manager": "a", "object": {"spec": {"on": "yes"}}},
 {"do": "apply", "manager": "a", "object": {"spec": {"plain": ["a"]}}},
 {"do": "apply", "manager": "a", "object": {"spec": {"names": {"a": "b"}}}},
 {"do": "apply", "manager": "a", "object": {"spec": {"size": ["a"]}}},
 {"do": "apply", "manager": "a", "object": {"spec": {"names": ["a", "a"]}}},
 {"do": "apply", "manager": "a", "object": {"spec": {"names": [{"a": "b"}]}}},
 {"do": "apply", "manager": "a", "object": {"spec": {"names": [null]}}},
 {"do": "apply", "manager": "a", "object": {"spec": {"names": [[]]}}},
 {"do": "apply", "manager": "a", "object": {"spec": {"boxes": [{"name": "b"}, {"name": "b"}]}}},
 {"do": "apply", "manager": "a", "object": {"spec": {"ports": [{"port": 80}, {"port": 80, "protocol": "TCP"}]}}},
 {"do": "apply", "manager": "a", "object": {"spec": {"sources": [{"empty": {"name": "x"}}]}}},
 {"do": "apply", "manager": "a", "object": {"spec": {"boxes": ["b"]}}},
 {"do": "apply", "manager": "a", "object": {"spec": {"boxes": [null]}}},
 {"do": "apply", "manager": "a", "object": {"spec": {"boxes": [{"name": "b", "args": ["x", 1]}]}}},
 {"do": "apply", "manager": "a", "object": {"metadata": {"name": "a", "managedFields": [{}]}}}]},
{"name": "keys that are not given have their defaults", "steps": [
 {"do": "apply", "manager": "a", "object": {"spec": {"ports": [{"port": 80, "name": "x"}, {"port": 80, "protocol": "UDP"}], "boxes": [{"image": "i"}]}}},
 {"do": "apply", "manager": "b", "object": {"spec": {"ports": [{"port": 80, "protocol": "TCP", "name": "y"}]}}},
 {"do": "apply", "manager": "b", "object": {"spec": {"ports": [{"port": 443}, {"port": 80, "protocol": "UDP", "name": "z"}]}}}]},
{"name": "items keep their order where both agree", "steps": [
 {"do": "apply", "manager": "a", "object": {"spec": {"names": ["a", "b", "c", "d"]}}},
 {"do": "apply", "manager": "b", "object": {"spec": {"names": ["d", "x", "b", "y"]}}},
 {"do": "apply", "manager": "a", "object": {"spec": {"names": ["c", "b", "a", "e"]}}}]},
{"name": "null and empty are values", "steps": [
 {"do": "apply", "manager": "a", "object": {"spec": {"plain": {}, "whole": {}, "names": [], "args": [], "boxes": [], "one": {}, "text": null, "anything": null, "raw": {}, "open": {}}}},
 {"do": "apply", "manager": "b", "object": {"spec": {"plain": {"a": "b"}, "names": ["x"], "text": "t", "anything": {"a": {}}, "one": {"name": "n"}}}},
 {"do": "apply", "manager": "b", "object": {"spec": {"plain": null, "names": null, "anything": {}}}}]},
{"name": "what has no type is merged map by map", "steps": [
 {"do": "apply", "manager": "a", "object": {"spec": {"anything": {"a": {"b": 1, "l": [1, 2]}, "s": "x"}, "raw": {"a": {"b": 1}}, "open": {"known": "k", "other": {"a": 1}}, "either": 80}}},
 {"do": "apply", "manager": "b", "object": {"spec": {"anything": {"a": {"c": 2}}, "open": {"other": {"b": 2}}}}},
 {"do": "apply", "manager": "b", "object": {"spec": {"anything": "text", "raw": {"a": {"c": 1}}, "either": "http"}}},
 {"do": "apply", "manager": "b", "force": true, "object": {"spec": {"anything": [1], "raw": {"a": {"c": 1}}, "either": "http"}}}]},
{"name": "what is there twice is one", "steps": [
 {"do": "create", "manager": "c", "object": {"spec": {"names": ["a", "a", "b"], "boxes": [{"name": "x", "image": "1"}, {"name": "x", "image": "2"}, {"name": "y", "image": "3"}]}}},
 {"do": "apply", "manager": "a", "object": {"spec": {"names": ["a"], "boxes": [{"name": "y", "args": ["z"]}]}}},
 {"do": "apply", "manager": "a", "force": true, "object": {"spec": {"boxes": [{"name": "x", "image": "3"}]}}},
 {"do": "update", "manager": "c", "object": {"metadata": {"name": "a", "uid": "u1"}, "spec": {"names": ["a", "b", "b"], "boxes": [{"name": "x", "image": "2"}]}}}]},
{"name": "of many updaters the oldest become one", "steps": [
 {"do": "create", "manager": "m00", "object": {"spec": {"plain": {"k00": "v"}}}},
 {"do": "update", "manager": "m01", "object": {"metadata": {"name": "a", "uid": "u1"}, "spec": {"plain": {"k00": "v", "k01": "v"}}}},
 {"do": "update", "manager": "m02", "object": {"metadata": {"name": "a", "uid": "u1"}, "spec": {"plain": {"k00": "v", "k01": "v", "k02": "v"}}}},
 {"do": "update", "manager": "m03", "object": {"metadata": {"name": "a", "uid": "u1"}, "spec": {"plain": {"k00": "v", "k01": "v", "k02": "v", "k03": "v"}}}},
 {"do": "update", "manager": "m04", "object": {"metadata": {"name": "a", "uid": "u1"}, "spec": {"plain": {"k00": "v", "k01": "v", "k02": "v", "k03": "v", "k04": "v"}}}},
 {"do": "update", "manager": "m05", "object": {"metadata": {"name": "a", "uid": "u1"}, "spec": {"plain": {"k00": "v", "k01": "v", "k02": "v", "k03": "v", "k04": "v", "k05": "v"}}}},
 {"do": "update", "manager": "m06", "object": {"metadata": {"name": "a", "uid": "u1"}, "spec": {"plain": {"k00": "v", "k01": "v", "k02": "v", "k03": "v", "k04": "v", "k05": "v", "k06": "v"}}}},
 {"do": "update", "manager": "m07", "object": {"metadata": {"name": "a", "uid": "u1"}, "spec": {"plain": {"k00": "v", "k01": "v", "k02": "v", "k03": "v", "k04": "v", "k05": "v", "k06": "v", "k07": "v"}}}},
 {"do": "update", "manager": "m08", "object": {"metadata": {"name": "a", "uid": "u1"}, "spec": {"plain": {"k00": "v", "k01": "v", "k02": "v", "k03": "v", "k04": "v", "k05": "v", "k06": "v", "k07": "v", "k08": "v"}}}},
 {"do": "update", "manager": "m09", "object": {"metadata": {"name": "a", "uid": "u1"}, "spec": {"plain": {"k00": "v", "k01": "v", "k02": "v", "k03": "v", "k04": "v", "k05": "v", "k06": "v", "k07": "v", "k08": "v", "k09": "v"}}}},
 {"do": "update", "manager": "m10", "object": {"metadata": {"name": "a", "uid": "u1"}, "spec": {"plain": {"k00": "v", "k01": "v", "k02": "v", "k03": "v", "k04": "v", "k05": "v", "k06": "v", "k07": "v", "k08": "v", "k09": "v", "k10": "v"}}}},
 {"do": "update", "manager": "m11", "object": {"metadata": {"name": "a", "uid": "u1"}, "spec": {"plain": {"k00": "v", "k01": "v", "k02": "v", "k03": "v", "k04": "v", "k05": "v", "k06": "v", "k07": "v", "k08": "v", "k09": "v", "k10": "v", "k11": "v"}}}}]},
{"name": "kubectl owns what its annotation says", "steps": [
 {"do": "create", "manager": "kubectl-client-side-apply", "object": {"metadata": {"name": "a", "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{\"apiVersion\":\"example.org/v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":\"a\"},\"spec\":{\"count\":1}}"}}, "spec": {"count": 1, "text": "t"}}},
 {"do": "apply", "manager": "kubectl", "object": {"spec": {"count": 2, "text": "u"}}},
 {"do": "apply", "manager": "kubectl", "object": {"spec": {"count": 2}}},
 {"do": "apply", "manager": "other", "object": {"spec": {"count": 3}}}]},
{"name": "nobody manages what an object is", "steps": [
 {"do": "create", "manager": "", "object": {"metadata": {"name": "a", "namespace": "n", "resourceVersion": "1"}}},
 {"do": "apply", "manager": "", "object": {"metadata": {"name": "a", "namespace": "n", "labels": {}}}},
 {"do": "apply", "manager": "", "object": {"metadata": {"name": "a", "namespace": "n", "labels": {"a": "b"}, "finalizers": ["f/g"]}}}]}
]`
