//! Every annotation that Cairn writes or reads.

/// On a CRD: `title` of `app.yaml`.
pub const STACK_TITLE: &str = "stacks.crossplane.io/stack-title";
/// On a CRD: `title` of `group.yaml`.
pub const GROUP_TITLE: &str = "stacks.crossplane.io/group-title";
/// On a CRD: `category` of `group.yaml`.
pub const GROUP_CATEGORY: &str = "stacks.crossplane.io/group-category";
/// On a CRD: `overview` of `group.yaml`.
pub const GROUP_OVERVIEW: &str = "stacks.crossplane.io/group-overview";
/// On a CRD: `overviewShort` of `group.yaml`.
pub const GROUP_OVERVIEW_SHORT: &str = "stacks.crossplane.io/group-overview-short";
/// On a CRD: `readme` of `group.yaml`.
pub const GROUP_README: &str = "stacks.crossplane.io/group-readme";
/// On a CRD: `category` of `resource.yaml`.
pub const RESOURCE_CATEGORY: &str = "stacks.crossplane.io/resource-category";
/// On a CRD: `title` of `resource.yaml`.
pub const RESOURCE_TITLE: &str = "stacks.crossplane.io/resource-title";
/// On a CRD: `titlePlural` of `resource.yaml`.
pub const RESOURCE_TITLE_PLURAL: &str = "stacks.crossplane.io/resource-title-plural";
/// On a CRD: `overview` of `resource.yaml`.
pub const RESOURCE_OVERVIEW: &str = "stacks.crossplane.io/resource-overview";
/// On a CRD: `overviewShort` of `resource.yaml`.
pub const RESOURCE_OVERVIEW_SHORT: &str = "stacks.crossplane.io/resource-overview-short";
/// On a CRD: `readme` of `resource.yaml`.
pub const RESOURCE_README: &str = "stacks.crossplane.io/resource-readme";
/// On a CRD: all `ui-schema.yaml` that apply, as YAML documents.
pub const UI_SCHEMA: &str = "stacks.crossplane.io/ui-schema";
/// On a CRD: the icon as a data URI.
pub const ICON_DATA_URI: &str = "stacks.crossplane.io/icon-data-uri";

/// On a live object that Cairn did not make: `"true"` lets a template take it over.
pub const ADOPT: &str = "stacks.crossplane.io/adopt";
/// On a rendered object: `Orphan` leaves it alone when its owner or its template goes.
pub const DELETION_POLICY: &str = "stacks.crossplane.io/deletion-policy";
/// The value of [`DELETION_POLICY`] that leaves the object alone.
pub const ORPHAN: &str = "Orphan";
/// On a rendered object: a hash of what the template asked for, to see without a comparison whether
/// it has changed.
pub const DESIRED_HASH: &str = "stacks.crossplane.io/desired-hash";
/// On a rendered object: a record that an instance of this uid made it, which nobody without the
/// stack's seed can write.
pub const RECORD: &str = "stacks.crossplane.io/record";
/// On a rendered object of a kind that is not built in: how many instances are above it, that which
/// made it included.
pub const DEPTH: &str = "stacks.crossplane.io/depth";
/// On an instance: `"true"` leaves it and its children as they are.
pub const PAUSED: &str = "stacks.crossplane.io/paused";
/// On an instance: any new value draws new random values for it.
pub const ROTATE: &str = "stacks.crossplane.io/rotate";
/// On an install: `"true"` keeps CRDs, and so all instances, when it is deleted.
pub const KEEP_CRDS: &str = "stacks.crossplane.io/keep-crds";
/// On the seed of a Stack that went and left its instances: the kinds that it served, as
/// `Kind.group`, with commas.
pub const KEPT_KINDS: &str = "stacks.crossplane.io/kept-kinds";
/// On the seed of a Stack that went and left its instances: since when.
pub const KEPT_SINCE: &str = "stacks.crossplane.io/kept-since";
/// On what the stack manager created: what for, as `Stack/<namespace>/<name>` and the like.
pub const CREATED_FOR: &str = "stacks.crossplane.io/created-for";
/// On what the stack manager created, and on the Stack of an install: the proof, which only the
/// stack manager can make.
pub const SIGNATURE: &str = "stacks.crossplane.io/signature";
/// On what the stack manager created: the annotations that it put there for others, with commas.
pub const APPLIED_ANNOTATIONS: &str = "stacks.crossplane.io/applied-annotations";
/// On a Stack: where its seed is and what is in it, as `<namespace>/<name>#sha256:<hash>`. Only the
/// stack manager writes it.
pub const SEED: &str = "stacks.crossplane.io/seed";
/// On a seed: the uid of the Stack that it belongs to.
pub const SEED_OWNER: &str = "stacks.crossplane.io/seed-owner";
/// On a Stack whose seed was lost: the hash of the lost one accepts a new one, which changes all
/// generated values.
pub const ACCEPT_NEW_SEED: &str = "stacks.crossplane.io/accept-new-seed";
/// On the seed of a Stack that went and left its instances: the namespace that the Stack acted in;
/// empty for all.
pub const KEPT_IN: &str = "stacks.crossplane.io/kept-in";
/// On an install: `"true"` lets a new package change the CRDs that the install owns incompatibly,
/// unless other installs have instances. On a CRD, where only an administrator can write it:
/// `"true"` lets its owner change it in any case.
pub const ALLOW_BREAKING_CHANGES: &str = "stacks.crossplane.io/allow-breaking-changes";
/// On a CRD: the version of the package whose definition of it is in place.
pub const SPEC_VERSION: &str = "stacks.crossplane.io/spec-version";
/// On a CRD: the install that alone may change its spec, as `StackInstall/<namespace>/<name>` or
/// `ClusterStackInstall/<name>`.
pub const SPEC_OWNER: &str = "stacks.crossplane.io/spec-owner";
/// On a CRD: the installs that use it, oldest first, as a JSON list with kind, namespace, name, uid
/// and publisher.
pub const PARENTS: &str = "stacks.crossplane.io/parents";
/// On a CRD: the publisher of the package that defined it, to whom its API group belongs among
/// namespaced installs.
pub const PUBLISHER: &str = "stacks.crossplane.io/publisher";
/// On a CRD: a hash of the definition that is in place, to see when the package says less than
/// before.
pub const SPEC_HASH: &str = "stacks.crossplane.io/spec-hash";
/// On a Stack: the image that it was unpacked from, by digest.
pub const PACKAGE_IMAGE: &str = "stacks.crossplane.io/package-image";
