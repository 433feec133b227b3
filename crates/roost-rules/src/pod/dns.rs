//! How pods find other hosts, and the names they have themselves.

use roost_object::field::{Error, Errors};
use roost_object::names;

use crate::address;
use crate::check::{Check, Spot};

/// As many name servers as the resolvers of most systems ask.
const NAME_SERVERS_MAX: usize = 3;
const SEARCHES_MAX: usize = 32;
const SEARCH_LIST_MAX: usize = 2048;

/// Checks the policy and the settings of name resolution.
pub(super) fn validate_config(spec: &Spot<'_>, errors: &mut Errors) {
    let config = spec.field("dnsConfig");
    let servers = config.field("nameservers");
    if spec.field("dnsPolicy").text() == "None" {
        if !config.given() {
            let words = "must provide `dnsConfig` when `dnsPolicy` is None";
            errors.push(Error::required(&config.path, words));
            return;
        }
        if !servers.filled() {
            let words = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            errors.push(Error::required(&servers.path, words));
            return;
        }
    }
    if servers.elements().len() > NAME_SERVERS_MAX {
        servers.invalid(format!("must not have more than {NAME_SERVERS_MAX} nameservers"), errors);
    }
    servers.each(|_, server| address::validate(server.text(), &[], &server.path, errors));
    let searches = config.field("searches");
    let count = searches.elements().len();
    if count > SEARCHES_MAX {
        searches.invalid(format!("must not have more than {SEARCHES_MAX} search paths"), errors);
    }
    let length: usize = searches.elements().iter().map(|search| search.as_str().map_or(0, str::len)).sum();
    if length + count.saturating_sub(1) > SEARCH_LIST_MAX {
        let words =
            format!("must not have more than {SEARCH_LIST_MAX} characters (including spaces) in the search list");
        searches.invalid(words, errors);
    }
    searches.each(|_, search| {
        if search.text() != "." {
            let domain = search.text().strip_suffix('.').unwrap_or(search.text());
            let sentences = names::is_dns1123_subdomain_with_underscore(domain);
            errors.extend(sentences.into_iter().map(|words| Error::invalid(&search.path, domain, words)));
        }
    });
    config.field("options").each(|_, option| {
        if !option.field("name").filled() {
            errors.push(Error::required(&option.path, "must not be empty"));
        }
    });
}

/// Checks the entries that pods add to their file of hosts.
pub(super) fn validate_host_aliases(aliases: &Spot<'_>, errors: &mut Errors) {
    aliases.each(|_, alias| {
        let ip = alias.field("ip");
        address::validate(ip.text(), &[], &ip.path, errors);
        alias.field("hostnames").each(|_, name| name.text_passes(names::is_dns1123_subdomain, errors));
    });
}

/// Checks the name that a pod gives itself instead of its own.
pub(super) fn validate_hostname_override(spec: &Spot<'_>, errors: &mut Errors) {
    let name = spec.field("hostnameOverride");
    if !name.given() {
        return;
    }
    if spec.field("setHostnameAsFQDN").is_true() {
        name.forbidden("may not be specified when setHostnameAsFQDN is true", errors);
    }
    if spec.field("hostNetwork").is_true() {
        name.forbidden("may not be specified when hostNetwork is true", errors);
    }
    name.check(&[Check::Longest(64)], errors);
    name.text_passes(names::is_dns1123_subdomain, errors);
}
