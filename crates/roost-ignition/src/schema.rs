//! The fields of a config: their types, the spec version that brought each, and how lists of them are joined.

use std::borrow::Cow;

use serde_json::Value;

/// What a value has to be.
#[derive(Debug)]
pub(crate) enum Shape {
    Text,
    Integer,
    Flag,
    Record(&'static [Field]),
    List(&'static Shape, Join),
}

/// How two lists become one.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Join {
    /// One behind the other, repetitions and all.
    Append,
    /// Items with the same key are merged in the parent's place, others are appended.
    Key(KeyOf),
}

/// What makes an item of a list the same as another.
#[derive(Debug, Clone, Copy)]
pub(crate) enum KeyOf {
    /// The item itself, which is a text.
    Itself,
    /// One field of it.
    Field(&'static str),
    /// A partition has a number, or a label where the number is left to the tool.
    Partition,
    /// A header, which a child without a value removes.
    Header,
}

impl KeyOf {
    pub(crate) fn of(self, item: &Value) -> Cow<'_, str> {
        let text = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default();
        match self {
            Self::Itself => Cow::Borrowed(item.as_str().unwrap_or_default()),
            Self::Field(name) => Cow::Borrowed(text(name)),
            Self::Header => Cow::Borrowed(text("name")),
            Self::Partition => match item.get("number").and_then(Value::as_i64) {
                Some(number) if number != 0 => Cow::Owned(format!("number:{number}")),
                _ => match item.get("label").and_then(Value::as_str) {
                    Some(label) => Cow::Owned(format!("label:{label}")),
                    None => Cow::Borrowed(""),
                },
            },
        }
    }
}

/// One field of a record.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    /// The minor version that brought it.
    pub(crate) since: u8,
    pub(crate) shape: Shape,
    /// Lists of one record that share a space of keys: an item of a child removes items of the same key from the
    /// parent's other lists.
    pub(crate) group: Option<&'static str>,
}

const fn field(name: &'static str, shape: Shape) -> Field {
    Field { name, since: 0, shape, group: None }
}

const fn since(since: u8, name: &'static str, shape: Shape) -> Field {
    Field { name, since, shape, group: None }
}

const fn grouped(since: u8, name: &'static str, shape: Shape, group: &'static str) -> Field {
    Field { name, since, shape, group: Some(group) }
}

const fn texts() -> Shape {
    Shape::List(&Shape::Text, Join::Key(KeyOf::Itself))
}

const fn appended_texts() -> Shape {
    Shape::List(&Shape::Text, Join::Append)
}

const fn keyed(item: &'static Shape, key: &'static str) -> Shape {
    Shape::List(item, Join::Key(KeyOf::Field(key)))
}

/// The whole config.
pub(crate) static CONFIG: &[Field] = &[
    field(
        "ignition",
        Shape::Record(&[
            field("config", Shape::Record(&[field("merge", keyed(&REFERENCE, "source")), field("replace", REFERENCE)])),
            since(
                1,
                "proxy",
                Shape::Record(&[
                    field("httpProxy", Shape::Text),
                    field("httpsProxy", Shape::Text),
                    field("noProxy", texts()),
                ]),
            ),
            field(
                "security",
                Shape::Record(&[field(
                    "tls",
                    Shape::Record(&[field("certificateAuthorities", keyed(&REFERENCE, "source"))]),
                )]),
            ),
            field(
                "timeouts",
                Shape::Record(&[field("httpResponseHeaders", Shape::Integer), field("httpTotal", Shape::Integer)]),
            ),
            field("version", Shape::Text),
        ]),
    ),
    since(
        3,
        "kernelArguments",
        Shape::Record(&[
            grouped(3, "shouldExist", texts(), "argument"),
            grouped(3, "shouldNotExist", texts(), "argument"),
        ]),
    ),
    field("passwd", Shape::Record(&[field("groups", keyed(&GROUP, "name")), field("users", keyed(&USER, "name"))])),
    field(
        "storage",
        Shape::Record(&[
            grouped(0, "directories", keyed(&DIRECTORY, "path"), "node"),
            field("disks", keyed(&DISK, "device")),
            grouped(0, "files", keyed(&FILE, "path"), "node"),
            field("filesystems", keyed(&FILESYSTEM, "device")),
            grouped(0, "links", keyed(&LINK, "path"), "node"),
            since(2, "luks", keyed(&LUKS, "name")),
            field("raid", keyed(&RAID, "name")),
        ]),
    ),
    field("systemd", Shape::Record(&[field("units", keyed(&UNIT, "name"))])),
];

const VERIFICATION: Shape = Shape::Record(&[field("hash", Shape::Text)]);

const HEADERS: Shape =
    Shape::List(&Shape::Record(&[field("name", Shape::Text), field("value", Shape::Text)]), Join::Key(KeyOf::Header));

/// What another config or an authority is fetched from.
const REFERENCE: Shape = Shape::Record(&[
    since(1, "compression", Shape::Text),
    since(1, "httpHeaders", HEADERS),
    field("source", Shape::Text),
    field("verification", VERIFICATION),
]);

/// What a file's contents are fetched from.
const CONTENTS: Shape = Shape::Record(&[
    field("compression", Shape::Text),
    since(1, "httpHeaders", HEADERS),
    field("source", Shape::Text),
    field("verification", VERIFICATION),
]);

const OWNER: Shape = Shape::Record(&[field("id", Shape::Integer), field("name", Shape::Text)]);

static DIRECTORY: Shape = Shape::Record(&[
    field("group", OWNER),
    field("mode", Shape::Integer),
    field("overwrite", Shape::Flag),
    field("path", Shape::Text),
    field("user", OWNER),
]);

static FILE: Shape = Shape::Record(&[
    field("append", Shape::List(&CONTENTS, Join::Append)),
    field("contents", CONTENTS),
    field("group", OWNER),
    field("mode", Shape::Integer),
    field("overwrite", Shape::Flag),
    field("path", Shape::Text),
    field("user", OWNER),
]);

static LINK: Shape = Shape::Record(&[
    field("group", OWNER),
    field("hard", Shape::Flag),
    field("overwrite", Shape::Flag),
    field("path", Shape::Text),
    field("target", Shape::Text),
    field("user", OWNER),
]);

static DISK: Shape = Shape::Record(&[
    field("device", Shape::Text),
    field("partitions", Shape::List(&PARTITION, Join::Key(KeyOf::Partition))),
    field("wipeTable", Shape::Flag),
]);

static PARTITION: Shape = Shape::Record(&[
    field("guid", Shape::Text),
    field("label", Shape::Text),
    field("number", Shape::Integer),
    since(2, "resize", Shape::Flag),
    field("shouldExist", Shape::Flag),
    field("sizeMiB", Shape::Integer),
    field("startMiB", Shape::Integer),
    field("typeGuid", Shape::Text),
    field("wipePartitionEntry", Shape::Flag),
]);

static FILESYSTEM: Shape = Shape::Record(&[
    field("device", Shape::Text),
    field("format", Shape::Text),
    field("label", Shape::Text),
    since(1, "mountOptions", appended_texts()),
    field("options", appended_texts()),
    field("path", Shape::Text),
    field("uuid", Shape::Text),
    field("wipeFilesystem", Shape::Flag),
]);

static RAID: Shape = Shape::Record(&[
    field("devices", texts()),
    field("level", Shape::Text),
    field("name", Shape::Text),
    field("options", appended_texts()),
    field("spares", Shape::Integer),
]);

static LUKS: Shape = Shape::Record(&[
    since(5, "cex", Shape::Record(&[since(5, "enabled", Shape::Flag)])),
    since(
        2,
        "clevis",
        Shape::Record(&[
            since(
                2,
                "custom",
                Shape::Record(&[
                    since(2, "config", Shape::Text),
                    since(2, "needsNetwork", Shape::Flag),
                    since(2, "pin", Shape::Text),
                ]),
            ),
            since(2, "tang", keyed(&TANG, "url")),
            since(2, "threshold", Shape::Integer),
            since(2, "tpm2", Shape::Flag),
        ]),
    ),
    since(2, "device", Shape::Text),
    since(4, "discard", Shape::Flag),
    since(2, "keyFile", CONTENTS),
    since(2, "label", Shape::Text),
    since(2, "name", Shape::Text),
    since(4, "openOptions", texts()),
    since(2, "options", appended_texts()),
    since(2, "uuid", Shape::Text),
    since(2, "wipeVolume", Shape::Flag),
]);

static TANG: Shape = Shape::Record(&[
    since(4, "advertisement", Shape::Text),
    since(2, "thumbprint", Shape::Text),
    since(2, "url", Shape::Text),
]);

static GROUP: Shape = Shape::Record(&[
    field("gid", Shape::Integer),
    field("name", Shape::Text),
    field("passwordHash", Shape::Text),
    since(2, "shouldExist", Shape::Flag),
    field("system", Shape::Flag),
]);

static USER: Shape = Shape::Record(&[
    field("gecos", Shape::Text),
    field("groups", texts()),
    field("homeDir", Shape::Text),
    field("name", Shape::Text),
    field("noCreateHome", Shape::Flag),
    field("noLogInit", Shape::Flag),
    field("noUserGroup", Shape::Flag),
    field("passwordHash", Shape::Text),
    field("primaryGroup", Shape::Text),
    field("shell", Shape::Text),
    since(2, "shouldExist", Shape::Flag),
    field("sshAuthorizedKeys", texts()),
    field("system", Shape::Flag),
    field("uid", Shape::Integer),
]);

static UNIT: Shape = Shape::Record(&[
    field("contents", Shape::Text),
    field("dropins", keyed(&Shape::Record(&[field("contents", Shape::Text), field("name", Shape::Text)]), "name")),
    field("enabled", Shape::Flag),
    field("mask", Shape::Flag),
    field("name", Shape::Text),
]);
