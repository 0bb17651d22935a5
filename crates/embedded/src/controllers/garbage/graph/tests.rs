//! What a change gives reason to look at.

use super::*;

struct World {
    graph: Graph,
    version: u64,
    maps: Arc<Kind>,
    roles: Arc<Kind>,
}

fn world() -> World {
    let maps = Arc::new(Kind::test("", "ConfigMap", true));
    let roles = Arc::new(Kind::test("rbac.authorization.k8s.io", "ClusterRole", false));
    World { graph: Graph::default(), version: 0, maps, roles }
}

fn owner(name: &str) -> OwnerReference {
    OwnerReference {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        name: name.to_owned(),
        uid: name.to_owned(),
        ..OwnerReference::default()
    }
}

fn blocking(name: &str) -> OwnerReference {
    OwnerReference { block_owner_deletion: Some(true), ..owner(name) }
}

impl World {
    fn map(&mut self, name: &str, owners: &[OwnerReference]) -> Node {
        self.version += 1;
        Node {
            kind: self.maps.clone(),
            key: Key::new("ns", name),
            version: self.version,
            ending: false,
            finalizers: Vec::new(),
            owners: owners.to_vec(),
        }
    }

    /// Names are uids here.
    fn put(&mut self, node: Node) -> Vec<String> {
        let uid: Uid = node.key.name.as_str().into();
        names(self.graph.put(&uid, node))
    }

    fn see(&mut self, name: &str, owners: &[OwnerReference]) -> Vec<String> {
        let node = self.map(name, owners);
        self.put(node)
    }

    fn see_ending(&mut self, name: &str, owners: &[OwnerReference], finalizer: &str) -> Vec<String> {
        let node = self.map(name, owners);
        self.put(Node { ending: true, finalizers: vec![finalizer.to_owned()], ..node })
    }

    fn standings(&self, name: &str) -> Vec<Standing> {
        self.graph.look(name).expect("the object").standings
    }
}

fn names(uids: Vec<Uid>) -> Vec<String> {
    uids.iter().map(ToString::to_string).collect()
}

#[test]
fn dependents_are_looked_at_when_their_owner_goes() {
    let mut world = world();
    assert!(world.see("owner", &[]).is_empty());
    assert!(world.see("a", &[owner("owner")]).is_empty(), "its owner lives");
    assert_eq!(world.standings("a"), [Standing::Solid]);
    assert_eq!(names(world.graph.remove("owner")), ["a"]);
    assert_eq!(world.standings("a"), [Standing::Absent]);
    assert!(world.graph.remove("a").is_empty());
    assert!(world.graph.absent.is_empty() && world.graph.dependents.is_empty(), "nothing is kept for nobody");
}

#[test]
fn an_owner_that_nobody_told_of_is_unknown_until_somebody_does() {
    let mut world = world();
    assert_eq!(world.see("a", &[owner("owner")]), ["a"]);
    assert_eq!(world.standings("a"), [Standing::Unknown]);
    assert_eq!(names(world.graph.unresolved()), ["a"]);
    world.see("owner", &[]);
    assert_eq!(world.standings("a"), [Standing::Solid]);
    assert!(world.graph.unresolved().is_empty());
}

#[test]
fn a_reference_must_name_its_owner_rightly() {
    let mut world = world();
    world.see("owner", &[]);
    let mut elsewhere = world.map("a", &[owner("owner")]);
    elsewhere.key.namespace = "other".to_owned();
    assert_eq!(world.put(elsewhere), ["a"]);
    let other_kind = OwnerReference { kind: "Secret".to_owned(), ..owner("owner") };
    assert_eq!(world.see("b", &[other_kind]), ["b"]);
    assert_eq!([world.standings("a"), world.standings("b")], [[Standing::Unknown], [Standing::Unknown]]);

    let role = Node { kind: world.roles.clone(), key: Key::new("", "role"), ..world.map("role", &[]) };
    world.put(role);
    let of_the_cluster = OwnerReference {
        api_version: "rbac.authorization.k8s.io/v1".to_owned(),
        kind: "ClusterRole".to_owned(),
        ..owner("role")
    };
    assert!(world.see("c", &[of_the_cluster]).is_empty(), "it may own in every namespace");
}

#[test]
fn foreground_looks_at_dependents_first_and_at_the_owner_when_they_are_gone() {
    let mut world = world();
    world.see("owner", &[]);
    world.see("a", &[blocking("owner")]);
    world.see("b", &[owner("owner")]);
    assert_eq!(world.see_ending("owner", &[], FOREGROUND), ["a", "b", "owner"]);
    assert_eq!(world.standings("a"), [Standing::Waiting]);
    assert!(world.graph.look("owner").expect("it waits").is_blocked);
    assert_eq!(names(world.graph.remove("a")), ["owner"]);
    let look = world.graph.look("owner").expect("it waits");
    assert!(!look.is_blocked && look.has_dependents, "those that do not block are left");
}

#[test]
fn an_owner_is_looked_at_when_it_is_no_longer_blocked() {
    for released in [vec![], vec![owner("owner")]] {
        let mut world = world();
        world.see_ending("owner", &[], FOREGROUND);
        world.see("a", &[blocking("owner")]);
        assert!(world.see("a", &released).contains(&"owner".to_owned()), "{released:?}");
    }
}

#[test]
fn old_news_changes_nothing() {
    let mut world = world();
    let old = world.map("a", &[owner("gone")]);
    world.see("a", &[]);
    assert!(world.put(old).is_empty());
    assert!(world.standings("a").is_empty());
    // An answer to a write may come after the end of its object.
    let late = world.map("a", &[]);
    world.graph.remove("a");
    assert!(world.graph.learn(&"a".into(), late).is_empty() && world.graph.look("a").is_none());
}

#[test]
fn a_change_elsewhere_in_an_object_is_no_reason_to_look() {
    let mut world = world();
    assert_eq!(world.see("a", &[owner("unknown")]), ["a"]);
    assert!(world.see("a", &[owner("unknown")]).is_empty());
    assert_eq!(world.graph.get("a").expect("it is known").version, 2);
}

#[test]
fn what_a_list_does_not_name_is_gone() {
    let mut world = world();
    world.see("owner", &[]);
    world.see("a", &[owner("owner")]);
    let listed = HashSet::from(["a".into()]);
    let roles = world.roles.clone();
    assert!(world.graph.retain(&roles, &HashSet::new()).is_empty(), "of another kind");
    let maps = world.maps.clone();
    assert_eq!(names(world.graph.retain(&maps, &listed)), ["a"]);
    assert_eq!(world.standings("a"), [Standing::Absent]);
}

#[test]
fn objects_go_with_their_definition_and_only_with_it() {
    for (are_gone, standing) in [(true, Standing::Absent), (false, Standing::Unknown)] {
        let mut world = world();
        let roles = world.roles.clone();
        let role = Node { kind: roles.clone(), key: Key::new("", "role"), ..world.map("role", &[]) };
        world.put(role);
        world.see("a", &[owner("role")]);
        world.graph.end_kind(&roles, are_gone);
        assert_eq!(world.standings("a"), [standing]);
    }
}
