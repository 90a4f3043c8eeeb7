//! Owns what a configuration says about the store: `none`, or the form and place of a file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where records are kept if nothing else is said.
const DEFAULT_STORE: &str = ".tepa/tepa.db";

/// What is kept between runs, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoreKeys", into = "StoreKeys")]
pub enum Store {
    /// Nothing is kept.
    None,
    /// A file of `SQLite`.
    Sqlite {
        /// The file, as seen from the folder that the run works in.
        path: String,
    },
}

impl Default for Store {
    fn default() -> Self {
        Self::Sqlite { path: DEFAULT_STORE.to_owned() }
    }
}

/// `none`, or a map.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum StoreKeys {
    Off(Off),
    Kept(Kept),
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Off {
    None,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(inline)]
struct Kept {
    /// The form of the file.
    kind: StoreKind,
    /// The file, as seen from the folder that the run works in; `.tepa/tepa.db` if left out.
    #[serde(default = "default_store")]
    #[schemars(length(min = 1))]
    path: String,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum StoreKind {
    Sqlite,
}

fn default_store() -> String {
    DEFAULT_STORE.to_owned()
}

impl From<StoreKeys> for Store {
    fn from(keys: StoreKeys) -> Self {
        match keys {
            StoreKeys::Off(Off::None) => Self::None,
            StoreKeys::Kept(Kept { kind: StoreKind::Sqlite, path }) => Self::Sqlite { path },
        }
    }
}

impl From<Store> for StoreKeys {
    fn from(store: Store) -> Self {
        match store {
            Store::None => Self::Off(Off::None),
            Store::Sqlite { path } => Self::Kept(Kept { kind: StoreKind::Sqlite, path }),
        }
    }
}

impl JsonSchema for Store {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Store".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        StoreKeys::json_schema(generator)
    }
}
