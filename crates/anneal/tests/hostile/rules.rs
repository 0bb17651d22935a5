//! Definitions whose rules are made to explode.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::victim::Victim;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A kind whose `spec` has three lists of numbers and a text, with this rule.
fn definition(plural: &str, bounded: bool, rule: &str) -> Value {
    let list = if bounded {
        json!({ "type": "array", "maxItems": 60, "items": { "type": "integer" } })
    } else {
        json!({ "type": "array", "items": { "type": "integer" } })
    };
    let spec = json!({
        "type": "object",
        "properties": { "a": list, "b": list, "c": list, "text": { "type": "string", "maxLength": 20000 } },
        "x-kubernetes-validations": [{ "rule": rule, "message": "the rule" }],
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.hostile.example") },
        "spec": {
            "group": "hostile.example",
            "scope": "Namespaced",
            "names": { "plural": plural, "kind": plural.to_uppercase(), "singular": plural },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } },
            }],
        },
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_that_could_explode_are_refused_or_cut_off() -> Result<()> {
    let victim = Victim::start().await?;
    let exploding = async {
        let all = "self.a.all(x, self.b.all(y, self.c.all(z, x + y + z >= 0)))";
        // Without bounds the lists may hold anything: this is said when the definition is made.
        let refused = victim.admin.post(DEFINITIONS, &definition("unbounded", false, all)).await?;
        ensure!(refused.status == 422 && refused.text().contains("cost"), "{}", refused.text());
        let nested = format!("{}1{} == 1", "(".repeat(5000), ")".repeat(5000));
        let refused = victim.admin.post(DEFINITIONS, &definition("nested", true, &nested)).await?;
        ensure!(refused.status == 422, "{}", refused.status);
        let wide = vec!["self.a.size() < 100"; 20_000].join(" && ");
        let refused = victim.admin.post(DEFINITIONS, &definition("wide", true, &wide)).await?;
        ensure!(refused.status == 422, "{}", refused.status);
        // Patterns that run away elsewhere, and a text that grows with each step.
        let rules = [
            ("patterns", "self.text.matches('^(a+)+$') || self.text.matches('(x*)*y') || true"),
            ("growing", "(self.text + self.text + self.text + self.text).size() >= 0"),
            ("cubes", all),
        ];
        for (plural, rule) in rules {
            let made = victim.admin.post(DEFINITIONS, &definition(plural, true, rule)).await?;
            ensure!(made.status == 201 || made.status == 422, "{plural}: {}", made.text());
            if made.status == 422 {
                continue;
            }
            let path = format!("/apis/hostile.example/v1/namespaces/default/{plural}");
            let list: Vec<u32> = (0..60).collect();
            let object = json!({
                "apiVersion": "hostile.example/v1", "kind": plural.to_uppercase(),
                "metadata": { "generateName": "x-" },
                "spec": { "a": list, "b": list, "c": list, "text": "a".repeat(19_999) + "!" },
            });
            let served = || async { Ok((victim.admin.get(&path).await?.status == 200).then_some(())) };
            anneal_harness::eventually("the kind to be served", served).await?;
            for _ in 0..20 {
                let reply = victim.admin.post(&path, &object).await?;
                ensure!(reply.status == 201 || reply.status == 422, "{plural}: {}", reply.text());
            }
        }
        Ok(())
    };
    victim.under("rules made to explode", exploding).await?;
    victim.stayed_below(250.0)
}
