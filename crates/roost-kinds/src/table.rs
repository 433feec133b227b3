//! The form of the generated tables: types, fields, resources and versions.

/// A Go struct of the API.
#[derive(Debug)]
pub struct Type {
    /// The name as Go prints it, such as `v1.PodSpec`.
    pub go: &'static str,
    /// The name in OpenAPI documents; empty for types without a model.
    pub openapi: &'static str,
    /// The fields in Go's order.
    pub fields: &'static [Field],
    /// The fields by protobuf number, as indices; empty when the declared order is the same.
    pub wire: &'static [u8],
    /// Whether server-side apply owns the struct as a whole.
    pub atomic: bool,
    /// The fields that the OpenAPI document requires.
    pub required: &'static [&'static str],
}

impl Type {
    /// The name without the package, as Go's decoding errors name a struct.
    pub fn name(&self) -> &'static str {
        self.go.split_once('.').map_or(self.go, |(_, name)| name)
    }

    /// Finds a field by its JSON name, also in inlined structs.
    pub fn field(&self, json: &str) -> Option<&'static Field> {
        for field in self.fields {
            if field.inline {
                if let Shape::Struct(inlined) = field.ty
                    && let Some(found) = inlined.field(json)
                {
                    return Some(found);
                }
            } else if field.json == json {
                return Some(field);
            }
        }
        None
    }
}

/// A field of a Go struct.
#[derive(Debug)]
pub struct Field {
    /// The name in JSON; the Go name for an inlined struct.
    pub json: &'static str,
    /// The Go type, without the pointer, such as `[]v1.Container`.
    pub go: &'static str,
    /// What values the field holds.
    pub ty: Shape,
    /// The protobuf field number; 0 when the field is not part of the message.
    pub number: u32,
    /// When the field is left out of JSON.
    pub omit: Omit,
    /// Whether the fields of the struct appear in JSON as fields of the outer one.
    pub inline: bool,
    /// Whether Go holds a pointer, so that a zero value is not an absent one.
    pub pointer: bool,
    /// The strategic merge patch strategy, such as `merge,retainKeys`; empty for none.
    pub patch_strategy: &'static str,
    /// The field by which strategic merge patch matches list elements.
    pub patch_merge_key: &'static str,
    /// How server-side apply merges a list.
    pub list_type: Option<ListType>,
    /// The keys of a [`ListType::Map`].
    pub list_keys: &'static [&'static str],
    /// Whether server-side apply owns the struct or map in this field as a whole.
    pub atomic: bool,
    /// Whether server-side apply merges the struct in this field although its type says that it is owned as a whole.
    pub granular: bool,
    /// The default of the OpenAPI document, as JSON.
    pub default: Option<&'static str>,
    /// The words that the OpenAPI document lists for the field or the entries of its list or map.
    pub words: &'static [&'static str],
}

/// The entries of a list or map.
#[derive(Debug)]
pub struct Element {
    /// The Go type, without the pointer.
    pub go: &'static str,
    /// What values the entries are.
    pub ty: Shape,
    /// Whether Go holds pointers.
    pub pointer: bool,
}

/// What values a place holds.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// Text.
    String,
    /// True or false.
    Bool,
    /// A number of 32 bits.
    Int32,
    /// A number of 64 bits.
    Int64,
    /// A floating-point number.
    Float64,
    /// Bytes, base64 in JSON.
    Bytes,
    /// A struct.
    Struct(&'static Type),
    /// A list.
    List(&'static Element),
    /// A list that protobuf wraps into a message of its own.
    Items(&'static Element),
    /// A map with text keys.
    Map(&'static Element),
    /// A time in seconds.
    Time,
    /// A time in microseconds.
    MicroTime,
    /// A quantity, such as `100m`.
    Quantity,
    /// A number or text, such as a port.
    IntOrString,
    /// Any object.
    RawExtension,
    /// The field set of a managed fields entry.
    FieldsV1,
    /// Any JSON value.
    Json,
    /// A JSON schema or a boolean.
    SchemaOrBool(&'static Element),
    /// A JSON schema or a list of them.
    SchemaOrArray(&'static Element),
    /// A JSON schema or a list of names.
    SchemaOrStringArray(&'static Element),
}

/// When a field is left out of JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Omit {
    /// When it is empty: zero numbers, no text, empty lists and maps, absent pointers. Structs are never empty.
    pub empty: bool,
    /// When it is the zero value of its type, structs included.
    pub zero: bool,
}

/// How server-side apply merges a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListType {
    /// Replaced as a whole.
    Atomic,
    /// Unique scalars.
    Set,
    /// Objects with keys.
    Map,
}

/// A resource that a stock server serves by default, in one version.
#[derive(Debug)]
pub struct Resource {
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The version.
    pub version: &'static str,
    /// The name in the URL.
    pub plural: &'static str,
    /// The name of one.
    pub singular: &'static str,
    /// The kind of its objects.
    pub kind: &'static str,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// The verbs in discovery.
    pub verbs: &'static [&'static str],
    /// The short names for `kubectl`.
    pub short_names: &'static [&'static str],
    /// The categories, such as `all`.
    pub categories: &'static [&'static str],
    /// The subresources in discovery's order.
    pub subresources: &'static [Subresource],
    /// The hash in discovery that tells clients when the storage version changes; empty when nothing is stored.
    pub storage_version_hash: &'static str,
    /// The type of its objects.
    pub ty: &'static Type,
    /// The `apiVersion` in which objects are kept: one of the served ones.
    pub storage_version: &'static str,
}

impl Resource {
    /// The `apiVersion` of its objects.
    pub fn api_version(&self) -> String {
        roost_object::group::api_version(self.group, self.version)
    }

    /// Finds a subresource by name.
    pub fn subresource(&self, name: &str) -> Option<&'static Subresource> {
        self.subresources.iter().find(|below| below.name == name)
    }

    /// Whether discovery lists a verb.
    pub fn allows(&self, verb: &str) -> bool {
        self.verbs.contains(&verb)
    }
}

/// A part of a resource with an address of its own.
#[derive(Debug)]
pub struct Subresource {
    /// The last step of the URL.
    pub name: &'static str,
    /// The group of its kind; empty together with the version when it is the resource's own.
    pub group: &'static str,
    /// The version of its kind.
    pub version: &'static str,
    /// The kind of what is read or written there.
    pub kind: &'static str,
    /// The verbs in discovery.
    pub verbs: &'static [&'static str],
}

/// A served version of a group, with its place among the others.
#[derive(Debug)]
pub struct Version {
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The version.
    pub version: &'static str,
    /// Groups with a higher number come first.
    pub group_priority: i32,
    /// Versions with a higher number come first.
    pub version_priority: i32,
}

/// The vocabulary in which the generated files are written.
pub(crate) mod construct {
    pub(crate) use super::{Element, ListType, Resource, Shape, Subresource, Type, Version};
    use super::{Field, Omit};

    pub(crate) const POINTER: u8 = 1;
    pub(crate) const INLINE: u8 = 2;
    pub(crate) const OMIT_EMPTY: u8 = 4;
    pub(crate) const OMIT_ZERO: u8 = 8;

    pub(crate) const fn t(go: &'static str, openapi: &'static str, fields: &'static [Field]) -> Type {
        Type { go, openapi, fields, wire: &[], atomic: false, required: &[] }
    }

    impl Type {
        pub(crate) const fn wire(mut self, order: &'static [u8]) -> Self {
            self.wire = order;
            self
        }

        pub(crate) const fn atomic(mut self) -> Self {
            self.atomic = true;
            self
        }

        pub(crate) const fn required(mut self, names: &'static [&'static str]) -> Self {
            self.required = names;
            self
        }
    }

    pub(crate) const fn f(json: &'static str, go: &'static str, ty: Shape, number: u32, flags: u8) -> Field {
        Field {
            json,
            go,
            ty,
            number,
            omit: Omit { empty: flags & OMIT_EMPTY != 0, zero: flags & OMIT_ZERO != 0 },
            inline: flags & INLINE != 0,
            pointer: flags & POINTER != 0,
            patch_strategy: "",
            patch_merge_key: "",
            list_type: None,
            list_keys: &[],
            atomic: false,
            granular: false,
            default: None,
            words: &[],
        }
    }

    impl Field {
        pub(crate) const fn patch(mut self, strategy: &'static str, key: &'static str) -> Self {
            self.patch_strategy = strategy;
            self.patch_merge_key = key;
            self
        }

        pub(crate) const fn list(mut self, list_type: ListType) -> Self {
            self.list_type = Some(list_type);
            self
        }

        pub(crate) const fn keys(mut self, keys: &'static [&'static str]) -> Self {
            self.list_type = Some(ListType::Map);
            self.list_keys = keys;
            self
        }

        pub(crate) const fn atomic(mut self) -> Self {
            self.atomic = true;
            self
        }

        pub(crate) const fn granular(mut self) -> Self {
            self.granular = true;
            self
        }

        pub(crate) const fn default(mut self, json: &'static str) -> Self {
            self.default = Some(json);
            self
        }

        pub(crate) const fn words(mut self, words: &'static [&'static str]) -> Self {
            self.words = words;
            self
        }
    }

    pub(crate) const fn e(go: &'static str, ty: Shape, pointer: bool) -> Element {
        Element { go, ty, pointer }
    }

    #[expect(clippy::too_many_arguments, reason = "one line a resource keeps the generated table readable")]
    pub(crate) const fn r(
        group: &'static str,
        version: &'static str,
        plural: &'static str,
        singular: &'static str,
        kind: &'static str,
        namespaced: bool,
        ty: &'static Type,
        storage_version: &'static str,
        storage_version_hash: &'static str,
    ) -> Resource {
        Resource {
            group,
            version,
            plural,
            singular,
            kind,
            namespaced,
            verbs: &[],
            short_names: &[],
            categories: &[],
            subresources: &[],
            storage_version_hash,
            ty,
            storage_version,
        }
    }

    impl Resource {
        pub(crate) const fn verbs(mut self, verbs: &'static [&'static str]) -> Self {
            self.verbs = verbs;
            self
        }

        pub(crate) const fn short(mut self, names: &'static [&'static str]) -> Self {
            self.short_names = names;
            self
        }

        pub(crate) const fn categories(mut self, categories: &'static [&'static str]) -> Self {
            self.categories = categories;
            self
        }

        pub(crate) const fn below(mut self, subresources: &'static [Subresource]) -> Self {
            self.subresources = subresources;
            self
        }
    }

    pub(crate) const fn s(
        name: &'static str,
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        verbs: &'static [&'static str],
    ) -> Subresource {
        Subresource { name, group, version, kind, verbs }
    }

    pub(crate) const fn v(
        group: &'static str,
        version: &'static str,
        group_priority: i32,
        version_priority: i32,
    ) -> Version {
        Version { group, version, group_priority, version_priority }
    }
}
