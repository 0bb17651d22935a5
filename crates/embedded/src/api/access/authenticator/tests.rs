use std::{collections::HashMap, sync::Mutex};

use serde_json::json;

use super::*;
use crate::api::access::user::ANONYMOUS;

/// Objects by resource, namespace and name.
#[derive(Default)]
struct Store(Mutex<HashMap<(String, String, String), Value>>);

impl Store {
    fn put(&self, resource: &str, namespace: &str, object: Value) {
        let key = (resource.to_owned(), namespace.to_owned(), object::name(&object).to_owned());
        self.0.lock().unwrap().insert(key, object);
    }
}

impl Objects for Store {
    fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Value> {
        let key = (resource.to_owned(), namespace.to_owned(), name.to_owned());
        self.0.lock().unwrap().get(&key).cloned()
    }
}

struct World {
    store: Arc<Store>,
    clock: Clock,
    secrets: Secrets,
    authenticator: Authenticator,
}

const ROBOT: &str = "system:serviceaccount:ns:robot";

fn robot(uid: &str) -> Value {
    json!({ "metadata": { "name": "robot", "namespace": "ns", "uid": uid } })
}

impl World {
    fn new() -> Self {
        let (store, rng) = (Arc::new(Store::default()), Rng::seeded(1));
        let clock = Clock::starting_at(Timestamp::from_second(1_800_000_000).unwrap());
        let secrets = Secrets::generate(&rng);
        store.put("serviceaccounts", "ns", robot("1"));
        store.put(
            "pods",
            "ns",
            json!({ "metadata": { "name": "p", "uid": "2" },
                "spec": { "serviceAccountName": "robot", "nodeName": "n" } }),
        );
        store.put("nodes", "", json!({ "metadata": { "name": "n", "uid": "3" } }));
        let authenticator = Authenticator::new(&secrets, store.clone(), clock.clone(), rng);
        Self { store, clock, secrets, authenticator }
    }

    fn issue(&self, spec: Value) -> Result<Value> {
        self.authenticator.issue(&json!({ "spec": spec }), &robot("1"))
    }

    fn token(&self, spec: Value) -> String {
        object::text(&self.issue(spec).unwrap(), "/status/token").to_owned()
    }

    fn who(&self, token: &str) -> Result<User, Refusal> {
        self.authenticator.holder(token, &[]).map(|holder| holder.user)
    }

    fn header(&self, header: &str) -> Result<String, u16> {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, header.parse().unwrap());
        self.authenticator.authenticate(&headers).map(|user| user.name).map_err(|error| error.code.as_u16())
    }
}

#[tokio::test(start_paused = true)]
async fn a_header_is_read_as_upstream_does() {
    let world = World::new();
    assert_eq!(world.authenticator.authenticate(&HeaderMap::new()).unwrap().name, ANONYMOUS);
    let (admin, robot) = (&world.secrets.admin_token, world.token(json!({})));
    for (header, user) in [
        (format!("Bearer {admin}"), Ok("kubernetes-admin")),
        (format!("bEaReR {robot}"), Ok(ROBOT)),
        (format!("Bearer {robot} and more"), Ok(ROBOT)),
        // Two spaces make an empty token, and that is none.
        (format!("Bearer  {robot}"), Ok(ANONYMOUS)),
        ("Bearer".to_owned(), Ok(ANONYMOUS)),
        ("Basic abc".to_owned(), Ok(ANONYMOUS)),
        ("Bearer x".to_owned(), Err(401)),
        (format!("Bearer {admin}x"), Err(401)),
        (format!("Bearer {}", "x".repeat(MAX_LENGTH + 1)), Err(401)),
    ] {
        assert_eq!(world.header(&header), user.map(str::to_owned), "{header}");
    }
    assert!(world.authenticator.holder(admin, &["vault".to_owned()]).is_err());
}

#[tokio::test(start_paused = true)]
async fn a_token_tells_who_holds_it() {
    let world = World::new();
    let pod = json!({ "boundObjectRef": { "apiVersion": "v1", "kind": "Pod", "name": "p" } });
    let user = world.who(&world.token(pod)).unwrap();
    assert_eq!((user.name.as_str(), user.uid.as_str()), (ROBOT, "1"));
    assert_eq!(user.groups, ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"]);
    let extra = |key: &str| user.extra[&format!("authentication.kubernetes.io/{key}")][0].clone();
    assert!(extra("credential-id").starts_with("JTI="));
    assert_eq!([extra("pod-name"), extra("pod-uid")], ["p", "2"]);
    assert_eq!([extra("node-name"), extra("node-uid")], ["n", "3"]);
}

#[tokio::test(start_paused = true)]
async fn forged_tokens_are_refused() {
    let world = World::new();
    let token = world.token(json!({}));
    let parts: Vec<_> = token.split('.').collect();
    let encode = |text: &str| BASE64_URL_SAFE_NO_PAD.encode(text);
    let claims = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(parts[1]).unwrap()).unwrap();
    let other = encode(&claims.replace("robot", "admin"));
    let none = encode(r#"{"alg":"none","typ":"JWT"}"#);
    let stranger = Signer::new(&[7; 32]).sign(&world.authenticator.signer.read(&token).unwrap()).unwrap();
    for forged in [
        format!("{}.{other}.{}", parts[0], parts[2]),
        format!("{none}.{}.", parts[1]),
        format!("{none}.{}.{}", parts[1], parts[2]),
        format!("{}.{}.", parts[0], parts[1]),
        format!("{}.{}", parts[0], parts[1]),
        format!("{token}x"),
        format!("{token}.x"),
        format!("{token}="),
        stranger,
        String::new(),
        "..".to_owned(),
    ] {
        assert_eq!(world.who(&forged), Err(Refusal::Unknown), "{forged}");
    }
}

#[tokio::test(start_paused = true)]
async fn tokens_end_in_time() {
    let world = World::new();
    let token = world.token(json!({ "expirationSeconds": 600 }));
    let wait = |seconds| world.clock.sleep(std::time::Duration::from_secs(seconds));
    wait(600 + 60).await;
    assert!(world.who(&token).is_ok());
    wait(1).await;
    assert_eq!(world.who(&token), Err(Refusal::Expired));
}

#[tokio::test(start_paused = true)]
async fn tokens_are_good_for_their_audience_only() {
    let world = World::new();
    let token = world.token(json!({ "audiences": ["a", "b"] }));
    assert_eq!(
        world.who(&token).unwrap_err().to_string(),
        format!(
            "[invalid bearer token, token audiences [\"a\" \"b\"] is invalid for the target audiences \
             [\"{AUDIENCE}\"]]"
        )
    );
    let wanted = ["b", "c", "a"].map(str::to_owned);
    assert_eq!(world.authenticator.holder(&token, &wanted).unwrap().audiences, ["b", "a"]);
}

#[tokio::test(start_paused = true)]
async fn tokens_end_with_what_they_are_bound_to() {
    let world = World::new();
    let pod = json!({ "boundObjectRef": { "apiVersion": "v1", "kind": "Pod", "name": "p" } });
    let (bound, free) = (world.token(pod), world.token(json!({})));
    let pod = |uid: &str, deleted: &str| {
        let metadata = json!({ "name": "p", "uid": uid, "deletionTimestamp": deleted });
        world.store.put("pods", "ns", json!({ "metadata": metadata }));
    };
    let now = world.clock.now().as_second();
    let at = |seconds| object::timestamp(Timestamp::from_second(now + seconds).unwrap());
    pod("2", &at(30));
    assert!(world.who(&bound).is_ok(), "it is still ending");
    pod("2", &at(-61));
    assert_eq!(world.who(&bound), Err(Refusal::Invalidated));
    pod("9", "");
    assert_eq!(world.who(&bound), Err(Refusal::Invalidated));
    assert!(world.who(&free).is_ok());
    // An account of the same name is not the same account.
    world.store.put("serviceaccounts", "ns", robot("8"));
    assert_eq!(world.who(&free), Err(Refusal::Invalidated));
    world.store.0.lock().unwrap().clear();
    assert_eq!(
        world.who(&free).unwrap_err().to_string(),
        "[invalid bearer token, serviceaccounts \"robot\" not found]"
    );
}

#[tokio::test(start_paused = true)]
async fn requests_are_checked() {
    let world = World::new();
    let made = world.issue(json!({})).unwrap();
    assert_eq!(
        made["spec"],
        json!({ "audiences": [AUDIENCE], "expirationSeconds": 3600, "boundObjectRef": null })
    );
    assert_eq!(made["status"]["expirationTimestamp"], "2027-01-15T09:00:00Z");
    let bound = |kind: &str, name: &str, uid: &str| json!({ "boundObjectRef": { "apiVersion": "v1", "kind": kind, "name": name, "uid": uid } });
    for (spec, code, word) in [
        (json!({ "expirationSeconds": 599 }), 422, "less than 10 minutes"),
        (json!({ "expirationSeconds": (1_i64 << 32) + 1 }), 422, "larger than 2^32"),
        (json!({ "audiences": vec!["x".repeat(100); 200] }), 400, "longer than"),
        (bound("Pod", "no-such", ""), 404, "pods \"no-such\" not found"),
        (bound("ConfigMap", "a", ""), 400, "type /v1, Kind=ConfigMap"),
        (bound("Pod", "p", "7"), 409, "UID in record"),
    ] {
        let error = world.issue(spec.clone()).expect_err("must be refused");
        assert_eq!(error.code.as_u16(), code, "{spec}");
        assert!(error.message.contains(word), "{}", error.message);
    }
    let other = json!({ "metadata": { "name": "other" }, "spec": {} });
    assert_eq!(world.authenticator.issue(&other, &robot("1")).expect_err("another account").code, 422);
    let stranger = json!({ "metadata": { "name": "x", "namespace": "ns", "uid": "4" } });
    let error = world.authenticator.issue(&json!({ "spec": bound("Pod", "p", "") }), &stranger);
    assert_eq!(error.expect_err("another account's pod").code, 400);
}
