//! Values of the right type that the API server cannot read: quantities and base64.

use crate::Mistake;

const WEB: &str = ".registry/templates/cachingwebservice.example.org/v1/web.yaml";
const SERVICE: &str = ".registry/templates/redis.example.org/v1/service.yaml";

const VALIDATE: &[&str] = &["validate", "."];
const TEST: &[&str] = &["test", "."];

/// With the cache there, so that the web server is made.
const SEEN: &[&str] = &[
    "render",
    ".",
    "-f",
    "cacheme.yaml",
    "--simulate",
    "controllers.yaml",
];

const QUANTITY: &str = "quantities must match the regular expression";
const UNIT: &str = "write a number, with a unit if need be: `500m`, `2`, `1.5Gi`";

pub const MISTAKES: &[Mistake] = &[
    Mistake {
        name: "a quantity that is none",
        file: WEB,
        from: "        env:\n",
        to: "        resources: {limits: {memory: lots}}\n        env:\n",
        args: VALIDATE,
        says: &[
            "web.yaml:16:38",
            "spec.template.spec.containers[0].resources.limits.memory: Invalid value: \"lots\"",
            QUANTITY,
            UNIT,
        ],
    },
    Mistake {
        name: "a quantity that is none, in a test",
        file: WEB,
        from: "        env:\n",
        to: "        resources: {limits: {memory: lots}}\n        env:\n",
        args: TEST,
        says: &["web.yaml:16:38", QUANTITY, UNIT],
    },
    Mistake {
        name: "a quantity that is none once the instance is known",
        file: WEB,
        from: "        env:\n",
        to: "        resources: {limits: {memory: {{ .spec.nginxVersion }} gigs}}\n        env:\n",
        args: SEEN,
        says: &[
            "web.yaml:16",
            "resources.limits.memory: Invalid value: \"1.17.4 gigs\"",
            QUANTITY,
            UNIT,
        ],
    },
    Mistake {
        name: "a secret that is not in base64",
        file: SERVICE,
        from: "kind: Service\n",
        to: "kind: Secret\ndata: {password: hello world}\n",
        args: VALIDATE,
        says: &[
            "service.yaml:3:18",
            "data.password: Invalid value",
            "illegal base64 data at input byte 5",
            "| b64enc",
        ],
    },
];
