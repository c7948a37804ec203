//! What an API is called and which of its versions are served.

/// One API of the protocol, at exactly the version range of Kafka 4.1. Each handler has its own as `API`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Api {
    pub key: i16,
    pub name: &'static str,
    /// Lowest version served.
    pub min: i16,
    /// Highest version served.
    pub max: i16,
    /// Lowest version advertised: below `min` for Produce alone (KAFKA-18659).
    pub advertised_min: i16,
    /// First flexible version (KIP-482): it decides the header versions. `i16::MAX` when there is none.
    pub flexible_from: i16,
}

/// ApiVersions, whose response header is the same at every version (KIP-511).
const API_VERSIONS_KEY: i16 = 18;

impl Api {
    pub const fn new(key: i16, name: &'static str, min: i16, max: i16, flexible_from: i16) -> Api {
        Api { key, name, min, max, advertised_min: min, flexible_from }
    }

    /// Whether the request header has a tagged section.
    pub const fn is_flexible(&self, version: i16) -> bool {
        version >= self.flexible_from
    }

    /// Whether the response header has a tagged section.
    pub const fn has_flexible_response_header(&self, version: i16) -> bool {
        self.is_flexible(version) && self.key != API_VERSIONS_KEY
    }
}
