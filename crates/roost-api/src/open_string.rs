//! Strings with known values whose set is open: a value that somebody else wrote survives reading and writing.

/// Declares an enum over the known values, with `Other` for the rest.
///
/// Its schema is a plain string, because the server accepts every value.
macro_rules! open_string {
    (
        $(#[$attribute:meta])*
        pub enum $name:ident {
            $($(#[$variant_attribute:meta])* $variant:ident = $text:literal,)+
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$variant_attribute])* $variant,)+
            /// A value that is not known here, kept as it was written.
            Other(String),
        }

        impl $name {
            /// The known values.
            pub const KNOWN: &'static [Self] = &[$(Self::$variant),+];

            /// The value as it is written.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)+
                    Self::Other(text) => text,
                }
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                match text {
                    $($text => Self::$variant,)+
                    other => Self::Other(other.to_owned()),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                Ok(Self::from(text.as_ref()))
            }
        }

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                std::borrow::Cow::Borrowed(stringify!($name))
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": "string"})
            }
        }
    };
}

pub(crate) use open_string;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::agent_install::HostRole;

    #[test]
    fn every_value_survives() {
        for text in ["worker", "", "auto-assign", "something new"] {
            let role: HostRole = serde_json::from_value(json!(text)).unwrap();
            assert_eq!(serde_json::to_value(&role).unwrap(), json!(text));
            assert_eq!(role.to_string(), text);
        }
        assert_eq!(HostRole::from("worker"), HostRole::Worker);
        assert_eq!(HostRole::from("chef"), HostRole::Other("chef".to_owned()));
        assert!(HostRole::KNOWN.contains(&HostRole::Arbiter));
        assert_eq!(crate::definition::schema_of::<HostRole>(), json!({"type": "string"}));
    }
}
