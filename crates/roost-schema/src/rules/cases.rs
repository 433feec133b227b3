//! Rules with the results, the costs and the errors that stock has for them.

use serde_json::Value;

use super::{Rule, compile_rule};
use crate::Structural;
use crate::cel::{Place, Value as Evaluated, View};

#[test]
fn rules_have_the_results_and_costs_of_stock() {
    let mut lines = include_str!("../../tests/cases/expressions.jsonl").lines();
    let mut next = || lines.next().map(|line| serde_json::from_str::<Value>(line).expect("a case is JSON"));
    let world = next().expect("the first line has the schema and the object");
    let mut schema = Structural::compile_part(&world["schema"]).expect("the schema is structural");
    schema.root = true;
    let view = View::Schema { schema: &schema, resource: true };
    let mut count = 0;
    while let Some(case) = next() {
        let text = case["rule"].as_str().expect("a case has a rule");
        let rule = Rule { expression: text.to_owned(), ..Rule::default() };
        let (compiled, found) = compile_rule(&rule, &schema, Place::root(&schema, true), true);
        assert_eq!(found.rule.as_deref(), case["error"].as_str(), "{text}");
        if let Ok(Some(program)) = &compiled.program {
            assert_eq!(Some(found.max_cost), case["maxCost"].as_u64(), "{text}");
            let run = program.run(&[Some(view.value(&world["object"])), None], 1_000_000);
            match run.outcome {
                Ok(Evaluated::Bool(value)) => {
                    assert_eq!(Some(value.to_string().as_str()), case["value"].as_str(), "{text}");
                }
                Ok(other) => panic!("{text} is {other:?}"),
                Err(error) => assert_eq!(Some(error.to_string().as_str()), case["evalError"].as_str(), "{text}"),
            }
            assert_eq!(Some(run.cost), case["cost"].as_u64(), "{text}");
        }
        count += 1;
    }
    assert!(count > 600, "only {count} cases");
}
