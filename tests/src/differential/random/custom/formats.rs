//! Texts that have a format or fit a pattern, and texts that do not.

/// What a text may be asked for, what fits and what does not.
pub(super) struct Texts {
    pub(super) name: &'static str,
    pub(super) good: &'static [&'static str],
    pub(super) bad: &'static [&'static str],
}

const fn texts(name: &'static str, good: &'static [&'static str], bad: &'static [&'static str]) -> Texts {
    Texts { name, good, bad }
}

/// The formats of texts that schemas know, and one that they do not.
pub(super) const FORMATS: &[Texts] = &[
    texts(
        "date-time",
        &["2020-01-01T00:00:00Z", "2020-01-01T00:00:00.5+02:00", "2020-01-01t00:00:00z"],
        &["2020-01-01", "2020-13-01T00:00:00Z", "2020-02-30T00:00:00Z", "2020-01-01T24:00:00Z", "2020-01-01 00:00:00Z"],
    ),
    texts("date", &["2020-01-01", "2020-02-29"], &["2020-1-1", "2021-02-29", "2020-01-01T00:00:00Z"]),
    texts("duration", &["1s", "1h30m", "1.5h", "2 days", "3w", "0"], &["1", "1x", "s", "PT1S", "-"]),
    texts("byte", &["YWJj", "YQ==", ""], &["!!", "YQ=", "YQ", "a b"]),
    texts("ipv4", &["10.0.0.1", "0.0.0.0"], &["010.0.0.1", "10.0.0", "fd00::1", "10.0.0.256", "::ffff:1.2.3.4"]),
    texts("ipv6", &["fd00::1", "::", "::ffff:1.2.3.4"], &["10.0.0.1", "fd00::1%eth0", "fd00:::1", "g::"]),
    texts(
        "cidr",
        &["10.0.0.0/8", "fd00::/64", "10.0.0.1/8"],
        &["10.0.0.0", "10.0.0.0/33", "010.0.0.0/8", "10.0.0.0/08"],
    ),
    texts(
        "mac",
        &["01:23:45:67:89:ab", "01-23-45-67-89-AB", "0123.4567.89ab"],
        &["01:23:45:67:89", "01:23-45:67:89:ab"],
    ),
    texts(
        "uuid",
        &["7ba7b810-9dad-11d1-80b4-00c04fd430c8", "7BA7B8109DAD11D180B400C04FD430C8"],
        &["7ba7b810-9dad-11d1-80b4-00c04fd430c", "7ba7b810-9dad-11d180b4-00c04fd430c8", "x"],
    ),
    texts("uuid3", &["7ba7b810-9dad-31d1-80b4-00c04fd430c8"], &["7ba7b810-9dad-11d1-80b4-00c04fd430c8"]),
    texts("uuid4", &["7ba7b810-9dad-41d1-80b4-00c04fd430c8"], &["7ba7b810-9dad-41d1-70b4-00c04fd430c8"]),
    texts("uuid5", &["7ba7b810-9dad-51d1-80b4-00c04fd430c8"], &["7ba7b810-9dad-51d1-c0b4-00c04fd430c8"]),
    texts("uri", &["https://a.example/x?y#z", "a:b", "/x"], &["a b", "x", ":", "http://[::1"]),
    texts("email", &["a@b.example", "\"x y\"@b", "A <a@b.c>"], &["a", "a@", "@b", "a b@c"]),
    texts("hostname", &["a.example", "a", "1.2"], &["-a", "a..b", "a_b", ""]),
    texts("isbn", &["978-3-16-148410-0", "0321751043"], &["978-3-16-148410-1", "1"]),
    texts("isbn10", &["0-321-75104-3", "080442957X"], &["0-321-75104-4"]),
    texts("isbn13", &["978 3401013190", "9783161484100"], &["978 3401013191"]),
    texts("creditcard", &["4111111111111111", "4111-1111-1111-1111"], &["4111111111111112", "1"]),
    texts("ssn", &["111-11-1111", "111 11 1111"], &["111-111-111", "111111111"]),
    texts("hexcolor", &["#FFFFFF", "#fff", "fff"], &["#ffff", "#gggggg"]),
    texts("rgbcolor", &["rgb(100,100,100)", "rgb( 1, 2, 3 )"], &["rgb(256,1,1)", "rgb(1,1)", "1,1,1"]),
    texts("password", &["", "x"], &["\u{e9}"]),
    texts("bsonobjectid", &["507f1f77bcf86cd799439011"], &["507f1f77bcf86cd79943901", "x"]),
    texts("k8s-short-name", &["abc", "a-1"], &["Abc", "a.b", "-a", ""]),
    texts("k8s-long-name", &["abc", "a.b-1"], &["Abc", "a..b", "-a", ""]),
    texts("whatever", &["x", ""], &["y"]),
];

/// Patterns, among them those that Go reads in another way than most.
pub(super) const PATTERNS: &[Texts] = &[
    texts("^[a-z]+$", &["abc", "z"], &["", "A", "abc\n", "a1"]),
    texts("b", &["abc", "b"], &["", "a"]),
    texts(r"^\d{2,3}$", &["12", "123"], &["1", "1234", "\u{664}\u{665}"]),
    texts(r"^(a|b)*c?$", &["", "abab", "abc"], &["cc", "d"]),
    texts(r"^\w+\s\w+$", &["a b"], &["ab", "a\u{a0}b", "\u{e9} b"]),
    texts("(?i)^abc$", &["ABC", "abc"], &["abd"]),
    texts(r"^\p{L}+$", &["abc", "\u{e9}"], &["1", ""]),
    texts("^.{3}$", &["abc", "\u{e9}\u{e9}\u{e9}"], &["ab", "a\nb"]),
    texts(r"^[^/\[\]]+$", &["abc"], &["a/b", "[", ""]),
    texts(r"^[[:alpha:]]{1,5}\z", &["abc"], &["abcdef", "1"]),
];

/// Texts that mean nothing in particular.
pub(super) const PLAIN: &[&str] =
    &["a", "abc", "", "b", "x.y", "1", "5", "A", "10.0.0.1", "1.2.3", "100m", "true", "a b", "\u{e9}", "abcdefghijkl"];
