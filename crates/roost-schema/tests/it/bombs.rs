//! Input that is made to be slow or deep ends quickly, with an error where stock has one.

use std::time::{Duration, Instant};

use roost_schema::cel::{self, Type};
use roost_schema::{Structural, default_definition, validate_definition};
use serde_json::{Value, json};

/// Debug builds on a busy machine are slow; what these tests must catch takes minutes or never ends.
const SOON: Duration = Duration::from_secs(20);

/// Half of what threads have by default. Frames of debug builds are many times larger than those of the product.
const STACK: usize = if cfg!(debug_assertions) { 32 << 20 } else { 1 << 20 };

fn on_small_stack(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(STACK).spawn(work).expect("a thread starts").join().expect("it ends well");
}

fn soon<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    assert!(start.elapsed() < SOON, "{what} took {:?}", start.elapsed());
    result
}

#[test]
fn expressions_of_any_depth_are_read_or_refused() {
    on_small_stack(read_expressions);
}

fn read_expressions() {
    let deep = [
        ("parentheses", format!("{}1{}", "(".repeat(40_000), ")".repeat(40_000))),
        ("open parentheses", "(".repeat(90_000)),
        ("lists", format!("{}{}", "[".repeat(40_000), "]".repeat(40_000))),
        ("maps", "{1:".repeat(30_000)),
        ("negations", format!("{}true", "!".repeat(90_000))),
        ("minus signs", format!("{}1", "-".repeat(90_000))),
        ("fields", format!("a{}", ".b".repeat(45_000))),
        ("indexes", format!("a{}", "[0]".repeat(30_000))),
        ("calls", format!("a{}", ".f()".repeat(20_000))),
        ("sums", format!("1{}", "+1".repeat(45_000))),
        ("conjunctions", format!("true{}", "&&true".repeat(15_000))),
        ("relations", format!("1{}", "==1".repeat(30_000))),
        ("choices", format!("{}1", "true?1:".repeat(12_000))),
        ("inner choices", format!("{}1", "true?".repeat(18_000))),
        ("macros", format!("{}true{}", "[1].all(x,".repeat(8_000), ")".repeat(8_000))),
        ("macros over macros", format!("[1]{}", ".map(x,x)".repeat(10_000))),
        ("messages", "A{a:".repeat(20_000)),
        ("quotes", "'".repeat(90_000)),
        ("chains in parentheses", format!("{}a{}", "(".repeat(240), format!("{})", ".b".repeat(150)).repeat(240))),
        ("sums in parentheses", format!("{}1{}", "(".repeat(240), format!("{})", "+1".repeat(150)).repeat(240))),
        ("broken chain", format!("{}a{}", "(".repeat(240), format!("{})", ".b".repeat(150)).repeat(239))),
        ("too long", "a".repeat(200_000)),
    ];
    for (what, expression) in deep {
        soon(what, || cel::compile(&expression, &[("a", Type::Dyn)]).err());
    }
    let deepest = [
        format!("{}1{} > 0", "(1+".repeat(120), ")".repeat(120)),
        format!("1{} > 0", "+1".repeat(480)),
        format!("{}true{}", "[1].all(x, ".repeat(60), ")".repeat(60)),
        format!("{}[1]{} == []", "[".repeat(240), "]".repeat(240)),
        format!("{}'a'{} == 'a'", "string(".repeat(240), ")".repeat(240)),
        format!("'a'{} == 'a'", ".trim()".repeat(480)),
        format!("dyn({{}}){} == optional.none()", ".?a".repeat(480)),
        format!("{}true{}", "true ? true && (".repeat(120), ") : false".repeat(120)),
    ];
    for expression in deepest {
        let compiled = cel::compile(&expression, &[]).unwrap_or_else(|error| panic!("{expression}: {error}"));
        assert!(compiled.program.evaluate(&|_| None, 1_000_000).outcome.is_ok(), "{expression}");
    }
    for (what, refused) in [
        ("parentheses", format!("{}1{}", "(".repeat(251), ")".repeat(251))),
        ("lists", format!("{}{}", "[".repeat(251), "]".repeat(251))),
    ] {
        let error = cel::compile(&refused, &[]).err().expect(what).to_string();
        assert!(error.contains("expression recursion limit exceeded: 250"), "{what}: {error}");
    }
    let accepted = format!("{}true{}", "(".repeat(100), ")".repeat(100));
    assert!(cel::compile(&accepted, &[]).is_ok());
}

fn rules_of(rule: &str, properties: &Value) -> Structural {
    let schema = json!({"type": "object", "properties": properties, "x-kubernetes-validations": [{"rule": rule}]});
    Structural::compile(&json!({"type": "object", "properties": {"spec": schema}})).expect("the schema is structural")
}

#[test]
fn rules_end_when_their_budget_is_spent() {
    let properties = json!({
        "list": {"type": "array", "items": {"type": "integer"}},
        "text": {"type": "string"},
        "words": {"type": "array", "items": {"type": "string"}},
    });
    let object = json!({"spec": {
        "list": (0..2000).collect::<Vec<_>>(),
        "text": "a".repeat(100_000),
        "words": vec!["a".repeat(100); 1000],
    }});
    for rule in [
        "self.list.all(a, self.list.all(b, self.list.all(c, self.list.all(d, a + b + c + d >= 0))))",
        "self.list.map(a, self.list.map(b, self.list)).size() > 0",
        "self.list.map(a, self.text + self.text).size() > 0",
        "self.list.all(a, self.text.matches('^(a+)+(a+)+(a+)+$') || true)",
        "self.list.all(a, self.text.contains('aaaaaaaaaaaaaaaaaaaaaaaaaaaaab') || true)",
        "self.words.map(w, self.words.join(self.text)).size() > 0",
        "self.list.all(a, self.text.replace('a', self.text.substring(0, 1000)).size() > 0)",
        "self.list.all(a, self.text.split('').size() > 0)",
        "self.list.all(a, self.list.sort().size() > 0 && self.list.map(x, -x).sort().size() > 0)",
        "self.list.all(a, self.list.distinct().size() > 0)",
        "self.list.all(a, sets.equivalent(self.list, self.list))",
        "lists.range(1000000000).size() > 0",
        "'%s'.format([self.words.map(w, self.words)]).size() > 0",
        "self.list.all(a, self.words.exists(w, w in self.words))",
        "[1,2,3].all(a, [1,2,3].all(b, self.list.all(c, self.list.all(d, self.list.all(e, true)))))",
    ] {
        let schema = rules_of(rule, &properties);
        let outcome = soon(rule, || schema.validate_rules(&object, None));
        assert!(!outcome.errors.is_empty(), "{rule} ran to its end");
    }
}

#[test]
fn spent_budgets_are_reported_in_the_words_of_stock() {
    let properties = json!({"list": {"type": "array", "items": {"type": "integer"}}});
    let object = json!({"spec": {"list": (0..2000).collect::<Vec<_>>()}});
    let schema = rules_of("self.list.all(a, self.list.all(b, a + b >= 0))", &properties);
    let errors = schema.validate_rules(&object, None).errors;
    let shown: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        ["spec: Invalid value: \"object\": 'operation cancelled: actual cost limit exceeded': no further validation \
             rules will be run due to call cost exceeds limit for rule: self.list.all(a, self.list.all(b, a + b >= 0))"]
    );
}

#[test]
fn patterns_do_not_explode() {
    let long = "a".repeat(if cfg!(debug_assertions) { 20_000 } else { 1_000_000 });
    for pattern in [
        "^(a+)+$",
        "^(a|aa)+b$",
        "(a?){900}a{900}",
        "(.*)(.*)(.*)(.*)(.*)x",
        "((a{1,30}){1,30})b",
        "[\\p{L}\\p{N}]{1,500}b",
        "^([\\x{0}-\\x{10ffff}]{1,999}){1}$",
    ] {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "string", "pattern": pattern}}});
        let schema = Structural::compile(&schema).expect("the schema is structural");
        soon(pattern, || schema.validate(&json!({"spec": long})));
    }
}

#[test]
fn patterns_with_too_many_copies_are_refused() {
    for pattern in ["(((a{100}){100}){100}){100}", "a{1001}", "(a{999}){999}"] {
        let mut definition = definition_of(&json!({"type": "string", "pattern": pattern}));
        default_definition(&mut definition);
        let errors = soon(pattern, || validate_definition(&definition));
        assert!(format!("{errors:?}").contains("error parsing regexp"), "{pattern}: {errors:?}");
    }
}

fn definition_of(field: &Value) -> Value {
    json!({
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": field}}}}],
        },
    })
}

fn nested(depth: usize, wrap: impl Fn(Value) -> Value) -> Value {
    (0..depth).fold(json!({"type": "object"}), |inner, _| wrap(inner))
}

#[test]
fn deep_schemas_are_refused() {
    on_small_stack(refuse_schemas);
}

fn refuse_schemas() {
    // As deep as documents are read.
    let depth = roost_object::json::MAX_DEPTH;
    for deep in [
        nested(depth, |inner| json!({"type": "array", "items": inner})),
        nested(depth, |inner| json!({"type": "object", "additionalProperties": inner})),
        nested(depth / 2, |inner| json!({"type": "object", "properties": {"a": inner}})),
        nested(depth / 2, |inner| json!({"allOf": [inner]})),
    ] {
        let errors = soon("a deep schema", || validate_definition(&definition_of(&deep)));
        assert!(!errors.is_empty());
    }
}

#[test]
fn deep_objects_are_walked_no_further_than_the_schema() {
    on_small_stack(walk_objects);
}

fn walk_objects() {
    let schema = json!({"type": "object", "properties": {"spec": {
        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "x-kubernetes-validations": [{"rule": "self == self"}]}}});
    let schema = Structural::compile(&schema).expect("the schema is structural");
    let object = json!({"spec": nested(400, |inner| json!({"a": inner}))});
    let mut copy = object.clone();
    schema.prune(&mut copy);
    schema.apply_defaults(&mut copy);
    assert!(schema.validate(&object).is_empty());
    assert!(schema.validate_rules(&object, Some(&object)).errors.is_empty());
}
