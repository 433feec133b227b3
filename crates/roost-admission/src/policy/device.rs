//! What is wrong with the expressions that select devices.

use std::sync::{Arc, LazyLock};

use roost_schema::cel::{CompileError, Declared, ObjectType, Type, compile_binding};

static DEVICE: LazyLock<Type<'static>> = LazyLock::new(|| {
    let quantity = Type::Object(ObjectType::Library("kubernetes.Quantity"));
    let by_domain = |values: Type<'static>| Type::map(Type::String, Type::map(Type::String, values));
    let fields = [
        ("allowMultipleAllocations", Type::Bool),
        ("driver", Type::String),
        ("attributes", by_domain(Type::Dyn)),
        ("capacity", by_domain(quantity)),
    ];
    let fields = fields.into_iter().map(|(name, kind)| (name.to_owned(), kind)).collect();
    Type::Object(ObjectType::Declared(Arc::new(Declared { name: "kubernetes.DRADevice".to_owned(), fields })))
});

/// What is wrong with an expression that selects devices.
pub fn device_selector_problem(expression: &str) -> Option<String> {
    match compile_binding(expression, &[("device", DEVICE.clone())]) {
        Ok(compiled) => match compiled.output {
            Type::Bool | Type::Dyn => None,
            other => Some(format!("must evaluate to bool or the unknown type, not {other}")),
        },
        Err(CompileError::Issues(issues)) => Some(format!("compilation failed: {issues}")),
        Err(error) => Some(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::device_selector_problem as problem;

    #[test]
    fn selectors_must_compile_to_a_truth() {
        let good = [
            "device.driver == 'a'",
            "device.attributes['dra.example.com'].model == 'a'",
            "device.attributes['dra.example.com'].fast",
            "device.capacity['dra.example.com'].memory.compareTo(quantity('1Gi')) >= 0",
            "cel.bind(own, device.attributes['dra.example.com'], own.model == 'a' && own.fast)",
        ];
        for expression in good {
            assert_eq!(problem(expression), None, "{expression}");
        }
        assert_eq!(
            problem("device.").unwrap(),
            "compilation failed: ERROR: <input>:1:8: Syntax error: no viable alternative at input '.'\n | device.\n | .......^"
        );
        assert_eq!(problem("device.driver").unwrap(), "must evaluate to bool or the unknown type, not string");
    }
}
