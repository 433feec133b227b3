//! What becomes of pools in given situations.

use jiff::{SignedDuration, Timestamp};

use super::plan::{Action, Mark, Member, Plan, Purpose, Repair, Situation, State, plan};
use super::strategy::Strategy;

const OLD: &str = "old";
const NEW: &str = "new";
const IN_PLACE: Strategy = Strategy::InPlace { max_unavailable: 1 };

fn now() -> Timestamp {
    "2026-01-01T00:20:00Z".parse().unwrap()
}

fn minutes_ago(minutes: i64) -> Timestamp {
    now() - SignedDuration::from_mins(minutes)
}

fn member(name: &str, current: &str) -> Member {
    Member {
        machine: format!("m-{name}"),
        node: name.to_owned(),
        has_node: true,
        is_ready: true,
        current: current.to_owned(),
        ..Member::default()
    }
}

fn taken(name: &str, current: &str) -> Member {
    let mark = Mark { purpose: Purpose::Update, since: minutes_ago(1), was_cordoned: false };
    Member { mark: Some(mark), is_cordoned: true, ..member(name, current) }
}

fn situation(strategy: Strategy, wanted: usize, members: Vec<Member>) -> Situation {
    Situation {
        strategy,
        target: NEW.to_owned(),
        wanted,
        is_paused: false,
        patience: SignedDuration::from_mins(10),
        drain_timeout: None,
        repair: None,
        members,
    }
}

fn decided(situation: &Situation) -> (Vec<(Action, String)>, Plan) {
    let plan = plan(situation, now());
    (plan.steps.iter().map(|step| (step.action, step.node.clone())).collect(), plan)
}

#[test]
fn a_node_in_place_goes_through_its_stages() {
    let mut node = member("a", OLD);
    let mut step = |change: &dyn Fn(&mut Member)| {
        change(&mut node);
        let (steps, plan) = decided(&situation(IN_PLACE, 1, vec![node.clone()]));
        (steps.into_iter().map(|(action, _)| action).collect::<Vec<_>>(), plan.state)
    };
    assert_eq!(step(&|_| {}), (vec![Action::Cordon(Purpose::Update)], State::Going));
    let mark = Mark { purpose: Purpose::Update, since: minutes_ago(1), was_cordoned: false };
    let marked = step(&|node| node.mark = Some(mark.clone()));
    assert_eq!(marked.0, [Action::Cordon(Purpose::Update)], "the mark was written, and then the process was killed");
    let drained = step(&|node| {
        node.is_cordoned = true;
        node.pods = 2;
    });
    assert_eq!(drained.0, [Action::Drain]);
    assert_eq!(step(&|node| node.pods = 0).0, [Action::Desire]);
    assert_eq!(step(&|node| NEW.clone_into(&mut node.desired)), (vec![], State::Going));
    assert_eq!(step(&|node| node.is_ready = false), (vec![], State::Going));
    assert_eq!(step(&|node| NEW.clone_into(&mut node.current)), (vec![], State::Going), "not Ready yet");
    assert_eq!(step(&|node| node.is_ready = true).0, [Action::Release]);
    assert_eq!(step(&|node| node.is_cordoned = false).0, [Action::Release], "killed between the two writes");
    assert_eq!(step(&|node| node.mark = None), (vec![], State::Done));
}

#[test]
fn the_first_node_that_does_not_come_back_stops_the_rollout() {
    let waiting = || vec![member("b", OLD), member("c", OLD)];
    let with = |change: &dyn Fn(&mut Member)| {
        let mut node = taken("a", OLD);
        NEW.clone_into(&mut node.desired);
        change(&mut node);
        let strategy = Strategy::InPlace { max_unavailable: 2 };
        let (steps, plan) = decided(&situation(strategy, 3, [vec![node], waiting()].concat()));
        (steps, plan.state)
    };
    let late = |node: &mut Member| node.mark.as_mut().unwrap().since = minutes_ago(10);
    for (change, words) in [
        (
            &(|node: &mut Member| node.failed = Some((NEW.to_owned(), "no disk".to_owned()))) as &dyn Fn(&mut Member),
            "no disk",
        ),
        (&late, "does not come back"),
        (
            &|node: &mut Member| {
                late(node);
                NEW.clone_into(&mut node.current);
                node.is_ready = false;
            },
            "not Ready since",
        ),
        (
            &|node: &mut Member| {
                late(node);
                node.has_node = false;
            },
            "is gone",
        ),
    ] {
        let (steps, state) = with(change);
        assert!(steps.is_empty(), "{steps:?}");
        assert!(matches!(&state, State::Halted(said) if said.contains(words) && said.contains("node a")), "{state:?}");
    }
    let (steps, _) = with(&|node| node.failed = Some((OLD.to_owned(), "earlier".to_owned())));
    assert_eq!(steps, [(Action::Cordon(Purpose::Update), "b".to_owned())], "what failed before is not this");
}

#[test]
fn the_budget_holds() {
    let names = |steps: &[(Action, String)]| steps.iter().map(|(_, node)| node.clone()).collect::<Vec<_>>().concat();
    let old = |names: &str| names.chars().map(|name| member(&name.to_string(), OLD)).collect::<Vec<_>>();
    let down = |name: &str, current: &str| Member { is_ready: false, ..member(name, current) };
    let cordoned = |name: &str, current: &str| Member { is_cordoned: true, ..member(name, current) };
    let replace = |max_surge, max_unavailable| Strategy::Replace { max_surge, max_unavailable };
    let two = Strategy::InPlace { max_unavailable: 2 };
    for (what, strategy, wanted, members, expected, state) in [
        ("one by one", IN_PLACE, 3, old("cab"), "a", ""),
        ("two by two", two, 3, old("abc"), "ab", ""),
        ("one is away by itself", IN_PLACE, 3, [old("ab"), vec![down("x", NEW)]].concat(), "", "have to be well first"),
        ("one was cordoned by a person", IN_PLACE, 2, [old("a"), vec![cordoned("x", NEW)]].concat(), "", "well first"),
        ("what is away already goes first", IN_PLACE, 3, [old("ab"), vec![down("x", OLD)]].concat(), "x", ""),
        ("a spare is needed", replace(1, 0), 3, old("abc"), "", "boot a spare host"),
        ("the spare is there", replace(1, 0), 3, [old("abc"), vec![member("s", NEW)]].concat(), "a", ""),
        ("the spare is not Ready", replace(1, 0), 3, [old("abc"), vec![down("s", NEW)]].concat(), "", "boot a spare"),
        ("one may be missing", replace(0, 1), 3, old("abc"), "a", ""),
        ("one is missing", replace(0, 1), 3, old("ab"), "", "or one that was removed"),
        ("nobody is moved", Strategy::OnDelete, 3, old("abc"), "", "OnDelete"),
    ] {
        let (steps, plan) = decided(&situation(strategy, wanted, members));
        assert_eq!(names(&steps), expected, "{what}");
        match plan.state {
            State::Waiting(words) => assert!(!state.is_empty() && words.contains(state), "{what}: {words}"),
            other => assert!(state.is_empty() && other == State::Going, "{what}: {other:?}"),
        }
    }
}

#[test]
fn machines_are_replaced_when_their_pods_are_gone() {
    let strategy = Strategy::Replace { max_surge: 1, max_unavailable: 0 };
    let busy = Member { pods: 3, ..taken("a", OLD) };
    let mut situation = situation(strategy, 1, vec![busy, member("b", NEW)]);
    assert_eq!(decided(&situation).0, [(Action::Drain, "a".to_owned())]);
    situation.drain_timeout = Some(SignedDuration::from_secs(30));
    assert_eq!(decided(&situation).0, [(Action::Remove, "a".to_owned())], "nodeDrainTimeout is over");
    situation.drain_timeout = None;
    situation.members[0].pods = 0;
    assert_eq!(decided(&situation).0, [(Action::Remove, "a".to_owned())]);
}

#[test]
fn a_change_that_is_taken_back_lets_nodes_go() {
    let mut situation = situation(IN_PLACE, 2, vec![taken("a", NEW), member("b", NEW)]);
    assert_eq!(decided(&situation).0, [(Action::Release, "a".to_owned())]);
    situation.members[0].desired = "between".to_owned();
    assert_eq!(decided(&situation).0, [(Action::Desire, "a".to_owned())], "it may be changing to something else");
}

#[test]
fn a_paused_pool_moves_nothing() {
    let mut situation = situation(IN_PLACE, 2, vec![taken("a", OLD), member("b", OLD)]);
    situation.is_paused = true;
    let (steps, plan) = decided(&situation);
    assert_eq!((steps, plan.state), (vec![], State::Paused));
}

#[test]
fn broken_nodes_are_replaced_where_there_is_a_spare_and_named_where_there_is_none() {
    let broken = |name: &str, minutes| Member {
        is_ready: false,
        unhealthy_since: Some(minutes_ago(minutes)),
        ..member(name, NEW)
    };
    let repair = Some(Repair { window: SignedDuration::from_mins(16), max_unhealthy: 2 });
    let with = |wanted, members| {
        let (steps, plan) = decided(&Situation { repair, ..situation(IN_PLACE, wanted, members) });
        (steps, plan.unrepaired.unwrap_or_default())
    };
    let well = || vec![member("a", NEW), member("b", NEW)];
    let (steps, words) = with(2, [well(), vec![broken("x", 17)]].concat());
    assert_eq!((steps, words.as_str()), (vec![(Action::Cordon(Purpose::Repair), "x".to_owned())], ""));
    let (steps, words) = with(3, [well(), vec![broken("x", 17)]].concat());
    assert!(steps.is_empty() && words.contains("not Ready: x; there is no spare"), "{words}");
    let (steps, words) = with(2, [well(), vec![broken("x", 15)]].concat());
    assert!(steps.is_empty() && words.is_empty(), "its window is not over");
    let many = vec![broken("x", 17), broken("y", 17), broken("z", 17)];
    let (steps, words) = with(2, [well(), many].concat());
    assert!(steps.is_empty() && words.contains("something larger is wrong"), "{words}");
    let mark = Mark { purpose: Purpose::Repair, since: minutes_ago(1), was_cordoned: false };
    let marked = |member: Member| Member { mark: Some(mark.clone()), is_cordoned: true, ..member };
    let (steps, _) = with(2, [well(), vec![marked(broken("x", 17))]].concat());
    assert_eq!(steps, [(Action::Remove, "x".to_owned())]);
    let (steps, _) = with(2, [well(), vec![marked(member("x", NEW))]].concat());
    assert_eq!(steps, [(Action::Release, "x".to_owned())], "it came back by itself");
}
