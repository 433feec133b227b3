//! Validation rules for the types of schemas: those that people write, and those at the edges of the language.

use serde_json::{Map, Value, json};

use crate::random::Random;

const TEXT: &[&str] = &[
    "self.startsWith('a')",
    "self.matches('^[a-z]+$')",
    "self.size() < 3 || self == oldSelf",
    "self.contains('b')",
    "self in ['a', 'abc', '5']",
    "self == oldSelf",
    "self != oldSelf",
    "self.lowerAscii() == self",
    "self.upperAscii() != 'ABC'",
    "self.split('.').size() < 3",
    "self.split('.', 2)[0] != 'x'",
    "isURL(self) && url(self).getHost() == 'a.example'",
    "url(self).getScheme() == 'https'",
    "isIP(self) ? ip(self).family() == 4 : true",
    "ip(self).isPrivate()",
    "cidr('10.0.0.0/8').containsIP(self)",
    "cidr(self).prefixLength() == 8",
    "isQuantity(self) && quantity(self).isGreaterThan(quantity('1'))",
    "quantity(self).asInteger() > 1",
    "quantity(self).add(quantity('100m')).compareTo(quantity('5')) < 0",
    "!format.dns1123Label().validate(self).hasValue()",
    "format.named('uuid').hasValue() && !format.named('uuid').value().validate(self).hasValue()",
    "duration(self) > duration('1s')",
    "timestamp(self) < timestamp('2025-01-01T00:00:00Z')",
    "timestamp(self).getFullYear() == 2020",
    "self.find('[0-9]+') != ''",
    "self.findAll('[a-z]').size() == 3",
    "int(self) > 3",
    "double(self) < 2.5",
    "bool(self)",
    "self.replace('a', 'b') != 'bbc'",
    "self.replace('a', 'b', 1).indexOf('b') == 0",
    "isSemver(self) && semver(self).major() == 1",
    "semver(self).isLessThan(semver('2.0.0'))",
    "self.trim() == self",
    "self.substring(1) == 'bc'",
    "self.substring(0, 2) == 'ab'",
    "self.charAt(1) == 'b'",
    "self.lastIndexOf('b') == 1",
    "self < 'b'",
    "self + 'x' == 'abcx'",
    "['a', 'b'].exists(x, x == self)",
    "['a', 'b'].join('-').contains(self)",
    "type(self) == string",
    "'%s and %d'.format([self, 5]) != 'a and 5'",
    "strings.quote(self) != '\"a\"'",
    "self.reverse() == self",
    "cel.bind(x, self, x != 'b')",
    "b'abc' == bytes(self)",
    "sets.contains(['a', 'b'], [self])",
    "[self].isSorted() && [self, 'b'].min() == self",
];

const INTEGER: &[&str] = &[
    "self > 3",
    "self % 2 == 0",
    "self >= oldSelf",
    "10 / self > 1",
    "self * 9223372036854775807 > 0",
    "double(self) < 2.5",
    "string(self) == '1'",
    "self in [1, 2, 3]",
    "-self < 5",
    "uint(self) > 2u",
    "self == oldSelf || self > 5",
    "self > 1.5",
    "[1, 2, self].sum() < 10",
    "[1, self].max() == self",
    "self.isGreaterThan(3)",
    "math.greatest(self, 3) == 3",
    "lists.range(3).exists(i, i == self)",
];

const NUMBER: &[&str] = &[
    "self < 1.5",
    "self >= oldSelf",
    "int(self) == 1",
    "self == 0.5 || self > 1",
    "string(self) != '1.25'",
    "self < 3",
];

const BOOLEAN: &[&str] =
    &["self", "!self", "self == oldSelf", "self || oldSelf", "self ? true : false", "string(self) == 'true'"];

const LIST: &[&str] = &[
    "size(self) < 3",
    "self.size() != 2",
    "self.all(x, self.exists_one(y, x == y))",
    "self == oldSelf",
    "oldSelf.all(x, x in self)",
    "self[0] == self[1]",
    "self.map(x, x).size() == self.size()",
    "self.filter(x, x != self[0]).size() < 2",
    "self.all(i, x, i < 2)",
    "self + self != []",
    "self.exists(x, true)",
    "size(oldSelf) == 0 || size(self) >= size(oldSelf)",
    "self[?0].hasValue()",
    "self.slice(0, 1).size() == 1",
    "self.first().hasValue()",
];

const TEXTS: &[&str] = &[
    "self.all(x, x.startsWith('a'))",
    "self.isSorted()",
    "self.indexOf('a') == 0",
    "self.join(',') != 'a,b'",
    "self.max() < 'c'",
    "'a' in self",
    "self.exists_one(x, x == 'a')",
    "sets.intersects(self, ['a', 'b'])",
    "self.distinct().size() == self.size()",
    "self.sort()[0] == 'a'",
];

const INTEGERS: &[&str] = &["self.sum() < 10", "self.min() >= 0", "self.all(x, x > 0)", "self.isSorted()", "1 in self"];

const MAP: &[&str] = &[
    "size(self) < 2",
    "self.all(k, k.startsWith('a'))",
    "'a' in self",
    "!('a' in self) || self['a'] == self['a']",
    "self == oldSelf",
    "self.all(k, v, k != 'b')",
    "self.exists(k, k == 'a')",
    "self.map(k, k).size() == size(self)",
    "self.transformList(k, v, k).size() < 2",
    "self['a'] == self['b']",
    "self.?a.hasValue()",
    "oldSelf.all(k, k in self)",
    "self.transformMap(k, v, k != 'a', v) == self",
];

const MIXED: &[&str] = &[
    "type(self) == int ? self > 3 : self.endsWith('%')",
    "type(self) == string && self == '5'",
    "self == oldSelf",
    "string(self) == '5'",
    "self == 5",
];

const OBJECT: &[&str] = &[
    "self == oldSelf",
    "true",
    "has(self.FIELD)",
    "!has(self.FIELD) || has(self.OTHER)",
    "has(self.FIELD) == has(oldSelf.FIELD)",
    "self.FIELD == oldSelf.FIELD",
    "self.FIELD == self.FIELD",
    "self.?FIELD == oldSelf.?FIELD",
    "[has(self.FIELD), has(self.OTHER)].exists_one(x, x)",
    "!has(oldSelf.FIELD) || has(self.FIELD)",
    "self.?FIELD.hasValue() || self.?OTHER.hasValue()",
    "has(self.nothing)",
];

/// Rules that hold nowhere.
const WRONG: &[&str] = &[
    "self.",
    "",
    " ",
    "1",
    "self ==",
    "self.nothing == 1",
    "undefined(self)",
    "'a' + 1 == 2",
    "self == 'a' && self == 1",
    "oldSelf.x",
    "self.matches('(')",
    "duration('x') == duration('1s')",
    "self.all(x, x.all(y, y.all(z, z == x)))",
    "[1, 'a'].size() == 2",
    "self.map(x, x, x)",
    "timestamp('nonsense') == self",
    "has(self)",
    "size(self) == 1 ? true : 'a'",
    "self.?x",
    "x",
    "self == null",
    "dyn(self) == dyn(1)",
    "quantity('x') == quantity('1')",
    "ip('x').family() == 4",
];

/// A rule for a schema with all that may stand beside it.
pub(super) fn rule(random: &mut Random, schema: &Value) -> Value {
    let text = if random.chance(4) { (*random.pick(WRONG)).to_owned() } else { fitting(random, schema) };
    let mut rule = Map::from_iter([("rule".to_owned(), Value::from(text.clone()))]);
    if random.chance(45) {
        rule.insert("message".to_owned(), json!(random.pick(&["must be good", "x", "two words"])));
    }
    if random.chance(25) {
        let by_type = match schema["type"].as_str() {
            Some("object") => "'object of ' + string(size(dyn(self)))",
            Some("array") => "'list of ' + string(self.size())",
            _ => "'bad value: ' + string(self)",
        };
        let words = [by_type, by_type, by_type, "'fixed'", "''", "'a\nb'", "'   '"];
        rule.insert("messageExpression".to_owned(), json!(random.pick(&words)));
    }
    if random.chance(25) {
        let reasons = ["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"];
        rule.insert("reason".to_owned(), json!(random.pick(&reasons)));
    }
    let fields = names(schema);
    if !fields.is_empty() && random.chance(30) {
        rule.insert("fieldPath".to_owned(), Value::from(format!(".{}", random.pick(&fields))));
    }
    if text.contains("oldSelf") && random.chance(10) {
        let over = text.replace("oldSelf", "oldSelf.value()");
        rule.insert("rule".to_owned(), Value::from(format!("!oldSelf.hasValue() || {over}")));
        rule.insert("optionalOldSelf".to_owned(), json!(true));
    }
    Value::Object(rule)
}

/// A rule with something wrong in it, for definitions that shall be refused.
pub(super) fn wrong_rule(random: &mut Random) -> Value {
    let rules = [
        json!({"rule": random.pick(WRONG)}),
        json!({"rule": random.pick(WRONG), "message": "m"}),
        json!({"rule": "true", "message": ""}),
        json!({"rule": "true", "message": "a\nb"}),
        json!({"rule": "true", "message": "  "}),
        json!({"rule": "a\nb", "message": ""}),
        json!({"rule": "true", "reason": "Whatever"}),
        json!({"rule": "true", "fieldPath": "x"}),
        json!({"rule": "true", "fieldPath": ".nothing"}),
        json!({"rule": "true", "fieldPath": ""}),
        json!({"rule": "true", "fieldPath": ".a[0]"}),
        json!({"rule": "true", "messageExpression": "1"}),
        json!({"rule": "true", "messageExpression": "self."}),
        json!({"rule": "true", "messageExpression": ""}),
        json!({"rule": "true", "messageExpression": "undefined"}),
        json!({"rule": "true", "optionalOldSelf": true}),
        json!({"rule": "oldSelf.hasValue()", "optionalOldSelf": true}),
        json!({"rule": "oldSelf.hasValue()", "optionalOldSelf": false}),
        json!({"message": "m"}),
        json!({}),
    ];
    random.pick(&rules).clone()
}

fn fitting(random: &mut Random, schema: &Value) -> String {
    if schema["x-kubernetes-int-or-string"] == true {
        return (*random.pick(MIXED)).to_owned();
    }
    match schema["type"].as_str() {
        Some("string") => (*random.pick(TEXT)).to_owned(),
        Some("integer") => (*random.pick(INTEGER)).to_owned(),
        Some("number") => (*random.pick(NUMBER)).to_owned(),
        Some("boolean") => (*random.pick(BOOLEAN)).to_owned(),
        Some("array") => match schema["items"]["type"].as_str() {
            Some("string") if random.chance(60) => (*random.pick(TEXTS)).to_owned(),
            Some("integer") if random.chance(60) => (*random.pick(INTEGERS)).to_owned(),
            _ => (*random.pick(LIST)).to_owned(),
        },
        Some("object") if schema.get("additionalProperties").is_some() => (*random.pick(MAP)).to_owned(),
        Some("object") => {
            let fields = names(schema);
            let text = *random.pick(OBJECT);
            if fields.is_empty() {
                return "self == oldSelf".to_owned();
            }
            let (field, other) = (random.pick(&fields), random.pick(&fields));
            text.replace("FIELD", field).replace("OTHER", other)
        }
        _ => "true".to_owned(),
    }
}

fn names(schema: &Value) -> Vec<String> {
    schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
}
