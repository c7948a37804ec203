//! Listeners: where the node binds, and what it tells clients.
//!
//! Rules as in Kafka's `KafkaConfig` and `CoreUtils.listenerListToEndPoints`, but stricter where a client would be sent
//! to an address it cannot reach, and with PLAINTEXT as the only security protocol.

use super::values::{Refusal, Values};
use std::{
    collections::{BTreeMap, BTreeSet},
    net::{IpAddr, Ipv6Addr},
};

/// A listener: where it binds and what it tells clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// `PLAINTEXT`, ...; in capitals.
    pub name: String,
    /// An address or a host name, without brackets. None: all interfaces, dual stack.
    pub host: Option<String>,
    /// 0: any free port.
    pub port: u16,
    /// From `advertised.listeners`; port 0 stands for the bound port. None: see `Config::advertised`.
    pub advertised: Option<(String, u16)>,
}

impl Listener {
    /// Whether it binds to no address in particular, so that its own address is no use to clients.
    pub fn is_wildcard(&self) -> bool {
        self.host.as_deref().is_none_or(is_unspecified)
    }
}

/// `HOST:PORT`, IPv6 addresses in brackets.
pub fn host_port(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// `HOST:PORT` as a user writes it, IPv6 addresses with or without brackets. The host may be empty.
pub fn split_host_port(text: &str) -> Result<(String, u16), String> {
    let wanted = || format!("`{text}` is not HOST:PORT");
    let (host, port) = text.rsplit_once(':').ok_or_else(wanted)?;
    let port = port.parse().map_err(|_| wanted())?;
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    if bare.is_some_and(|bare| bare.parse::<Ipv6Addr>().is_err()) {
        return Err(wanted());
    }
    let host = bare.unwrap_or(host);
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-%._:".contains(c);
    if !host.chars().all(allowed) || (host.contains(':') && host.parse::<Ipv6Addr>().is_err()) {
        return Err(wanted());
    }
    Ok((host.to_owned(), port))
}

/// The client listeners, in order.
pub(super) fn resolve(values: &Values) -> Result<Vec<Listener>, Refusal> {
    let protocols = security_protocols(values).map_err(|why| (PROTOCOLS, why))?;
    let controllers: BTreeSet<String> =
        values.list(CONTROLLERS).into_iter().map(str::to_uppercase).collect();
    let endpoints = endpoints(values, LISTENERS).map_err(|why| (LISTENERS, why))?;
    check_distinct(&endpoints).map_err(|why| (LISTENERS, why))?;
    let mut advertised = endpoints_by_name(values, &controllers)?;
    let mut listeners = Vec::new();
    for (name, host, port) in endpoints {
        let advertised = advertised.remove(&name);
        if controllers.contains(&name) {
            continue;
        }
        check_protocol(&name, &protocols)?;
        // `[::]` takes IPv4 connections too, as an empty host does.
        let host = Some(host).filter(|host| !host.is_empty() && host != "::");
        listeners.push(Listener { name, host, port, advertised });
    }
    if let Some(name) = advertised.keys().next() {
        let why = format!("`{ADVERTISED}` names the listener {name}, which `{LISTENERS}` does not");
        return Err((ADVERTISED, why));
    }
    if listeners.is_empty() {
        return Err((LISTENERS, format!("`{LISTENERS}` must name at least one client listener")));
    }
    Ok(listeners)
}

const LISTENERS: &str = "listeners";
const ADVERTISED: &str = "advertised.listeners";
const PROTOCOLS: &str = "listener.security.protocol.map";
const CONTROLLERS: &str = "controller.listener.names";

type Endpoint = (String, String, u16);

fn endpoints(values: &Values, setting: &str) -> Result<Vec<Endpoint>, String> {
    let parse = |item: &str| {
        let wanted = || format!("`{setting}`: `{item}` is not NAME://HOST:PORT");
        let (name, address) = item.split_once("://").ok_or_else(wanted)?;
        let named = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        if name.is_empty() || !name.chars().all(named) {
            return Err(wanted());
        }
        let (host, port) = split_host_port(address).map_err(|_| wanted())?;
        Ok((name.to_uppercase(), host, port))
    };
    values.list(setting).into_iter().map(parse).collect()
}

fn endpoints_by_name(
    values: &Values,
    controllers: &BTreeSet<String>,
) -> Result<BTreeMap<String, (String, u16)>, Refusal> {
    let mut by_name = BTreeMap::new();
    for (name, host, port) in endpoints(values, ADVERTISED).map_err(|why| (ADVERTISED, why))? {
        let refused = |why: String| Err((ADVERTISED, why));
        if controllers.contains(&name) {
            continue;
        }
        if host.is_empty() || is_unspecified(&host) {
            return refused(format!(
                "`{ADVERTISED}`: clients cannot connect to `{}`: name an address or a host",
                host_port(&host, port)
            ));
        }
        if by_name.insert(name.clone(), (host, port)).is_some() {
            return refused(format!("`{ADVERTISED}` names the listener {name} twice"));
        }
    }
    Ok(by_name)
}

/// Names are distinct; so are ports, unless one of two is an IPv4 and the other an IPv6 address. Port 0 is any port.
fn check_distinct(endpoints: &[Endpoint]) -> Result<(), String> {
    for (i, (name, host, port)) in endpoints.iter().enumerate() {
        for (other_name, other_host, other_port) in &endpoints[..i] {
            if name == other_name {
                return Err(format!("`{LISTENERS}` names the listener {name} twice"));
            }
            if port == other_port && *port != 0 && !distinct_families(host, other_host) {
                return Err(format!(
                    "`{LISTENERS}`: {other_name} and {name} have the same port {port}; only an IPv4 and an IPv6 \
                     address may share one"
                ));
            }
        }
    }
    Ok(())
}

fn distinct_families(a: &str, b: &str) -> bool {
    match (a.parse::<IpAddr>(), b.parse::<IpAddr>()) {
        (Ok(a), Ok(b)) => a.is_ipv4() != b.is_ipv4(),
        _ => false,
    }
}

fn security_protocols(values: &Values) -> Result<BTreeMap<String, String>, String> {
    let parse = |item: &str| {
        let (name, protocol) = item
            .split_once(':')
            .ok_or_else(|| format!("`{PROTOCOLS}`: `{item}` is not NAME:PROTOCOL"))?;
        let protocol = protocol.trim().to_uppercase();
        if !["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"].contains(&protocol.as_str()) {
            return Err(format!("`{PROTOCOLS}`: {protocol} is not a security protocol"));
        }
        Ok((name.trim().to_uppercase(), protocol))
    };
    values.list(PROTOCOLS).into_iter().map(parse).collect()
}

fn check_protocol(name: &str, protocols: &BTreeMap<String, String>) -> Result<(), Refusal> {
    match protocols.get(name).map(String::as_str) {
        Some("PLAINTEXT") => Ok(()),
        Some(other) => Err((
            LISTENERS,
            format!(
                "listener {name}: security protocol {other} is not there yet, only PLAINTEXT is"
            ),
        )),
        None => Err((
            LISTENERS,
            format!("listener {name}: `{PROTOCOLS}` does not say its security protocol"),
        )),
    }
}

fn is_unspecified(host: &str) -> bool {
    host.parse::<IpAddr>().is_ok_and(|address| address.is_unspecified())
}
