//! Making and changing objects by command.

use anyhow::{Result, ensure};

use super::{
    Check, Session, checks,
    session::{has, same},
};

pub(super) const CHECKS: &[Check] = checks!("change":
    API => [
        create_makes_objects_of_many_kinds,
        create_from_a_file_tells_each_object,
        run_and_expose_make_a_pod_and_its_service,
        edit_writes_what_the_editor_saved,
        edit_without_a_change_is_cancelled,
        patch_takes_all_three_kinds,
        patch_that_changes_nothing_says_so,
        replace_puts_a_whole_object,
        replace_of_an_old_version_is_refused,
        label_adds_overwrites_and_removes,
        annotate_adds_overwrites_and_removes,
        scale_sets_the_replicas,
        set_image_changes_the_template,
        autoscale_makes_an_autoscaler,
    ],
);

fn create_makes_objects_of_many_kinds(session: &Session) -> Result<()> {
    for (line, made) in [
        ("configmap colours --from-literal=sky=blue", "configmap/colours created"),
        ("secret generic words --from-literal=pass=word", "secret/words created"),
        ("serviceaccount robot", "serviceaccount/robot created"),
        ("role reader --verb=get,list --resource=pods", "role.rbac.authorization.k8s.io/reader created"),
        (
            "rolebinding readers --role=reader --user=ann",
            "rolebinding.rbac.authorization.k8s.io/readers created",
        ),
        ("deployment web --image=registry.invalid/web:1 --replicas=0", "deployment.apps/web created"),
        ("service clusterip web --tcp=80:8080", "service/web created"),
        ("job once --image=registry.invalid/once:1", "job.batch/once created"),
        ("ingress web --rule=web.localhost/*=web:80 --class=none", "ingress.networking.k8s.io/web created"),
        (
            "poddisruptionbudget web --selector=app=web --min-available=1",
            "poddisruptionbudget.policy/web created",
        ),
    ] {
        same(&session.ok(&format!("create {line}"))?, made)?;
    }
    same(&session.value("secret words", ".data.pass")?, "d29yZA==")?;
    ensure!(session.value("service web", ".spec.clusterIP")?.contains('.'), "a service must have an address");
    same(&session.value("pdb web", ".spec.minAvailable")?, "1")
}

fn create_from_a_file_tells_each_object(session: &Session) -> Result<()> {
    let manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n\
                    {\"apiVersion\": \"v1\", \"kind\": \"Secret\", \"metadata\": {\"generateName\": \"b-\"}}\n";
    let file = session.file("two.yaml", manifest)?;
    let said = session.ok(&format!("create -f {}", file.display()))?;
    has(&said, &["configmap/a created\nsecret/b-"])?;
    let shown = session.ok_with("create --dry-run=client -o yaml -f -", manifest)?;
    has(&shown, &["kind: ConfigMap", "generateName: b-"])
}

fn run_and_expose_make_a_pod_and_its_service(session: &Session) -> Result<()> {
    same(&session.ok("run lone --image=registry.invalid/lone:1 --port=8080")?, "pod/lone created")?;
    same(&session.ok("expose pod lone --port=80 --target-port=8080")?, "service/lone exposed")?;
    same(&session.value("service lone", ".spec.selector.run")?, "lone")?;
    same(&session.value("service lone", ".spec.ports[0].targetPort")?, "8080")
}

fn edit_writes_what_the_editor_saved(session: &Session) -> Result<()> {
    session.ok("create configmap colours --from-literal=sky=blue")?;
    let said = session.edit("edit configmap colours", "sky: blue", "sky: grey")?;
    ensure!(said.code == 0, "{said}");
    same(&said.stdout, "configmap/colours edited")?;
    same(&session.value("cm colours", ".data.sky")?, "grey")
}

fn edit_without_a_change_is_cancelled(session: &Session) -> Result<()> {
    session.ok("create configmap colours --from-literal=sky=blue")?;
    let before = session.object("cm colours")?;
    let said = session.edit("edit configmap colours", "not there", "nor this")?;
    ensure!(said.code == 0 && said.stderr.contains("Edit cancelled, no changes made"), "{said}");
    ensure!(session.object("cm colours")? == before, "a cancelled edit must not write");
    Ok(())
}

fn patch_takes_all_three_kinds(session: &Session) -> Result<()> {
    session.ok("create deployment web --image=registry.invalid/web:1 --replicas=0")?;
    let patch = |kind: &str, body: &str| session.ok(&format!("patch deployment web --type={kind} -p {body}"));
    let sidecar = r#"{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"registry.invalid/side:1"}]}}}}"#;
    same(&patch("strategic", sidecar)?, "deployment.apps/web patched")?;
    let names = session.value("deployment web", ".spec.template.spec.containers[*].name")?;
    ensure!(names.split(' ').count() == 2, "{names}");
    patch("json", r#"[{"op":"add","path":"/spec/paused","value":true}]"#)?;
    same(&session.value("deployment web", ".spec.paused")?, "true")?;
    patch("merge", r#"{"spec":{"paused":null,"minReadySeconds":7}}"#)?;
    same(&session.value("deployment web", ".spec.paused")?, "")?;
    same(&session.value("deployment web", ".spec.minReadySeconds")?, "7")?;
    let refusal =
        session.fails(r#"patch deployment web --type=json -p [{"op":"remove","path":"/spec/paused"}]"#)?;
    has(&refusal, &["The request is invalid"])
}

fn patch_that_changes_nothing_says_so(session: &Session) -> Result<()> {
    session.ok("create configmap colours --from-literal=sky=blue")?;
    let said = session.ok(r#"patch configmap colours -p {"data":{"sky":"blue"}}"#)?;
    same(&said, "configmap/colours patched (no change)")
}

fn replace_puts_a_whole_object(session: &Session) -> Result<()> {
    session.ok("create configmap colours --from-literal=sky=blue")?;
    let manifest = "{apiVersion: v1, kind: ConfigMap, metadata: {name: colours}, data: {grass: green}}";
    same(&session.ok_with("replace -f -", manifest)?, "configmap/colours replaced")?;
    same(&session.value("cm colours", ".data")?, r#"{"grass":"green"}"#)?;
    let uid = session.value("cm colours", ".metadata.uid")?;
    let said = session.ok_with("replace --force -f -", manifest)?;
    has(&said, &["configmap/colours replaced"])?;
    ensure!(session.value("cm colours", ".metadata.uid")? != uid, "forced: deleted and made anew");
    Ok(())
}

fn replace_of_an_old_version_is_refused(session: &Session) -> Result<()> {
    session.ok("create configmap colours --from-literal=sky=blue")?;
    let old = session.ok("get configmap colours -o yaml")?;
    session.ok("annotate configmap colours touched=yes")?;
    let refusal = session.fails_with("replace -f -", &old)?;
    has(&refusal, &["Error from server (Conflict)", "the object has been modified"])
}

fn label_adds_overwrites_and_removes(session: &Session) -> Result<()> {
    session.ok("create configmap colours")?;
    same(&session.ok("label configmap colours tier=front")?, "configmap/colours labeled")?;
    same(&session.ok("label configmap colours tier=front")?, "configmap/colours not labeled")?;
    has(
        &session.fails("label configmap colours tier=back")?,
        &["already has a value (front)", "--overwrite"],
    )?;
    session.ok("label configmap colours tier=back --overwrite")?;
    same(&session.value("cm colours", ".metadata.labels")?, r#"{"tier":"back"}"#)?;
    same(&session.ok("label configmap colours tier-")?, "configmap/colours unlabeled")?;
    same(&session.value("cm colours", ".metadata.labels")?, "")?;
    has(&session.fails("label configmap colours tier=not/valid")?, &["invalid label value"])
}

fn annotate_adds_overwrites_and_removes(session: &Session) -> Result<()> {
    session.ok("create configmap colours")?;
    same(&session.ok("annotate configmap colours note=one")?, "configmap/colours annotated")?;
    has(&session.fails("annotate configmap colours note=two")?, &["--overwrite"])?;
    session.ok("annotate configmap colours note=two --overwrite")?;
    same(&session.value("cm colours", ".metadata.annotations.note")?, "two")?;
    session.ok("annotate configmap colours note-")?;
    same(&session.value("cm colours", ".metadata.annotations")?, "")
}

fn scale_sets_the_replicas(session: &Session) -> Result<()> {
    session.ok("create deployment web --image=registry.invalid/web:1 --replicas=0")?;
    same(&session.ok("scale deployment web --replicas=2")?, "deployment.apps/web scaled")?;
    same(&session.value("deployment web", ".spec.replicas")?, "2")?;
    let refusal = session.fails("scale deployment web --current-replicas=7 --replicas=1")?;
    has(&refusal, &["Expected replicas to be 7, was 2"])?;
    session.ok("scale --replicas=0 deployment/web")?;
    same(&session.value("deployment web", ".spec.replicas")?, "0")
}

fn set_image_changes_the_template(session: &Session) -> Result<()> {
    session.ok("create deployment web --image=registry.invalid/web:1 --replicas=0")?;
    let said = session.ok("set image deployment/web web=registry.invalid/web:2")?;
    same(&said, "deployment.apps/web image updated")?;
    same(
        &session.value("deployment web", ".spec.template.spec.containers[0].image")?,
        "registry.invalid/web:2",
    )?;
    session.ok("set resources deployment/web --limits=cpu=200m,memory=64Mi")?;
    same(&session.value("deployment web", ".spec.template.spec.containers[0].resources.limits.cpu")?, "200m")
}

fn autoscale_makes_an_autoscaler(session: &Session) -> Result<()> {
    session.ok("create deployment web --image=registry.invalid/web:1 --replicas=0")?;
    let said = session.run("autoscale deployment web --min=1 --max=5", "")?;
    // A server that only keeps autoscalers warns; that is its right.
    ensure!(said.code == 0, "{said}");
    same(&said.stdout, "horizontalpodautoscaler.autoscaling/web autoscaled")?;
    same(&session.value("hpa web", ".spec.maxReplicas")?, "5")
}
