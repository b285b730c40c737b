//! CEL rules of a CRD: those that do not compile, and instances that break them.

use crate::Mistake;

const CRD: &str =
    ".registry/resources/example.org/cachingwebservice/v1/cachingwebservice.v1.crd.yaml";
const REDIS: &str = ".registry/resources/example.org/redis/v1/redis.v1.crd.yaml";

const VALIDATE: &[&str] = &["validate", "."];
const RENDER: &[&str] = &["render", ".", "-f", "cacheme.yaml"];
const TEST: &[&str] = &["test", "."];

const NEED: &str = "            required: [nginxVersion]\n";

pub const MISTAKES: &[Mistake] = &[
    Mistake {
        name: "a rule that does not compile",
        file: CRD,
        from: NEED,
        to: "            required: [nginxVersion]\n            x-kubernetes-validations:\n            - rule: self.replicas( == 1\n",
        args: VALIDATE,
        says: &[
            "crd.yaml:27:15",
            "the rule does not compile: extraneous input '==' at character 16",
        ],
    },
    Mistake {
        name: "a rule about a field that is not there",
        file: CRD,
        from: NEED,
        to: "            required: [nginxVersion]\n            x-kubernetes-validations:\n            - rule: self.replcas > 1\n",
        args: VALIDATE,
        says: &[
            "crd.yaml:27:15",
            "there is no field `replcas`",
            "did you mean `replicas`?",
        ],
    },
    Mistake {
        name: "a rule that refuses the instance beside the package",
        file: CRD,
        from: NEED,
        to: "            required: [nginxVersion]\n            x-kubernetes-validations:\n            - {rule: self.replicas > 2, message: three or more}\n",
        args: VALIDATE,
        says: &[
            "warning",
            "cacheme.yaml:7:3",
            "spec: Invalid value: three or more",
        ],
    },
    Mistake {
        name: "a rule that refuses what is rendered",
        file: CRD,
        from: NEED,
        to: "            required: [nginxVersion]\n            x-kubernetes-validations:\n            - {rule: self.replicas > 2, message: three or more, fieldPath: .replicas}\n",
        args: RENDER,
        says: &[
            "cacheme.yaml:8:13",
            "spec.replicas: Invalid value: 2: three or more",
        ],
    },
    Mistake {
        name: "a rule that refuses the instance of a test",
        file: CRD,
        from: NEED,
        to: "            required: [nginxVersion]\n            x-kubernetes-validations:\n            - {rule: self.replicas > 2, message: three or more}\n",
        args: TEST,
        says: &["cacheme.yaml:7:3", "spec: Invalid value: three or more"],
    },
    Mistake {
        name: "a rule that refuses what a template makes",
        file: REDIS,
        from: "                type: string\n",
        to: "                type: string\n                x-kubernetes-validations:\n                - {rule: self == '6', message: only the sixth}\n",
        args: RENDER,
        says: &[
            "cache.yaml:6",
            "spec.redisVersion: Invalid value: \"5\": only the sixth",
        ],
    },
];
