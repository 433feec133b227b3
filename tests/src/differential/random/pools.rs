//! What random values are drawn from: the good, the bad and the edges of both.

/// Texts that mean something somewhere, and texts that mean nothing anywhere.
pub(super) const TEXTS: &[&str] = &[
    "",
    "a",
    "abc",
    "A_b",
    "a.b",
    "1",
    "-1",
    "10.0.0.1",
    "fd00::1",
    "300.1.1.1",
    "10.0.0.0/8",
    "*",
    "/abs",
    "../x",
    "100m",
    "1Gi",
    "-5",
    "1e3",
    "foo/bar",
    "example.com/x",
    "a b",
    "true",
    "Always",
    "None",
    "ClusterIP",
    "TCP",
    "UDP",
    "http",
    "80",
    "65536",
    "In",
    "Exists",
    "NoSchedule",
    "Never",
    "2020-01-01T00:00:00Z",
    "$(X)",
    "é",
    "kubernetes.io/x",
    "Pod",
    "v1",
    "apps/v1",
    "default",
    "self.x == 1",
    "30%",
    "101%",
    "0 * * * *",
    "@daily",
    "TZ=UTC 0 * * * *",
    "a=b",
    "Immediate",
    "Retain",
    "Equals",
    "IfNotPresent",
    "Delete",
    "Orphan",
    "Fail",
    "Ignore",
    "Exact",
    "Cluster",
    "Namespaced",
    "-",
    "a\nb",
    " a",
    "https://example.com/x",
    "system:node:a",
];

/// The lengths at which texts are refused somewhere: labels, names, host names.
pub(super) const LENGTHS: &[usize] = &[64, 254, 260];

/// Texts that fit where a field's name contains one of the words.
pub(super) const FITTING: &[(&str, &[&str])] = &[
    ("apiversion", &["v1", "apps/v1"]),
    ("kind", &["Pod", "Deployment", "Node"]),
    ("schedule", &["* * * * *", "@hourly", "* * *"]),
    (
        "expression",
        &["true", "object.metadata.name == \"a\"", "1", "object.x", "has(object.spec)", "self.x", "request.name"],
    ),
    ("cidr", &["10.0.0.0/24", "fd00::/64", "10.0.0.1/8"]),
    ("address", &["10.0.0.1", "fd00::1", "192.168.1.1"]),
    ("path", &["/data", "/a/b", "rel"]),
    ("image", &["nginx:1"]),
    ("name", &["abc", "web", "a1", "my-name"]),
    ("ip", &["10.0.0.1", "fd00::1"]),
];

/// The keys of maps: labels, resources, and what is neither.
pub(super) const KEYS: &[&str] = &[
    "a",
    "app",
    "example.com/x",
    "A B",
    "cpu",
    "memory",
    "nvidia.com/gpu",
    "pods",
    "kubernetes.io/hostname",
    "requests.cpu",
    "storage",
    "hugepages-2Mi",
    "ephemeral-storage",
];

/// Numbers that fit into 32 bits.
pub(super) const INTEGERS: &[i64] =
    &[0, 1, -1, 2, 5, 30, 63, 80, 100, 101, 3600, 65_535, 65_536, 1_000_000, 2_147_483_647, -2_147_483_648];

/// Numbers that do not.
pub(super) const LARGE_INTEGERS: &[i64] = &[2_147_483_648, 1 << 40];

/// Numbers with a fraction.
pub(super) const NUMBERS: &[f64] = &[0.5, 1.0, 2.75];

/// Quantities.
pub(super) const QUANTITIES: &[&str] = &["1", "100m", "1Gi", "-1", "0", "1.5", "1e9", "2500Mi", "0.0001"];

/// Times that can be read.
pub(super) const TIMES: &[&str] = &["2020-01-01T00:00:00Z", "2020-01-01T00:00:00.000001Z", "2031-01-01T00:00:00+02:00"];

/// Numbers and texts for ports and shares.
pub(super) const PORTS: &[i64] = &[0, 1, -1, 80, 70_000];

/// The texts beside them.
pub(super) const SHARES: &[&str] = &["http", "30%", "101%", "", "a_b", "100%"];

/// Base64, and what is not.
pub(super) const BYTES: &[&str] = &["", "YWJj", "YQ==", "YQ==", "YWJj", "!!"];

/// Names of objects; most cases are not about these.
pub(super) const NAMES: &[&str] = &["abc", "web", "a-1", "Bad", "a.b", "abc/d"];
