//! The protobuf table: how bodies in Kubernetes' protobuf become the JSON that Go would print.
//!
//! Two sources, both in the Go modules that `hack/kube/kubernetes` pins. `generated.proto` says what is on the
//! wire: numbers and types. The Go structs say what is in JSON: names, what is a pointer, what is left out when
//! zero, what is inlined. They meet by field number. Whatever does not fit is an error and never a guess.

mod go;
mod proto;

use std::{
    collections::BTreeMap,
    env, fs,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};
use flate2::{Compression, GzBuilder};
use serde_json::{Value, json};

use self::{
    go::GoField,
    proto::{ProtoField, Shape},
};

const FILE: &str = "crates/embedded/schema/protobuf.json.gz";

/// The Go modules that declare the kinds.
const MODULES: [&str; 3] = ["k8s.io/api", "k8s.io/apiextensions-apiserver", "k8s.io/apimachinery"];

/// Messages whose JSON is not an object of their fields, by what the table calls them.
const SPECIAL: [(&str, &str); 7] = [
    ("k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSON", "json"),
    ("k8s.io.apimachinery.pkg.api.resource.Quantity", "quantity"),
    ("k8s.io.apimachinery.pkg.apis.meta.v1.FieldsV1", "json"),
    ("k8s.io.apimachinery.pkg.apis.meta.v1.MicroTime", "microTime"),
    ("k8s.io.apimachinery.pkg.apis.meta.v1.Time", "time"),
    ("k8s.io.apimachinery.pkg.runtime.RawExtension", "json"),
    ("k8s.io.apimachinery.pkg.util.intstr.IntOrString", "intOrString"),
];

/// Every group has these options under its own version; the table has them once.
const OPTIONS: (&str, &str) =
    ("meta.k8s.io/v1/DeleteOptions", "k8s.io.apimachinery.pkg.apis.meta.v1.DeleteOptions");

pub(crate) fn table(check: bool) -> Result<()> {
    let modules = Modules::find()?;
    let mut table = Table { modules: &modules, packages: BTreeMap::new(), messages: BTreeMap::new() };
    let mut kinds = BTreeMap::from([(OPTIONS.0.to_owned(), OPTIONS.1.to_owned())]);
    for (group, version, names) in crate::schema::KINDS {
        for name in *names {
            let api_version =
                if group.is_empty() { (*version).to_owned() } else { format!("{group}/{version}") };
            kinds.insert(format!("{api_version}/{name}"), format!("{}.{name}", package_of(group, version)));
        }
    }
    for message in kinds.values() {
        table.take(message)?;
    }
    let fields: usize = table.messages.values().map(Vec::len).sum();
    let messages = table.messages.len();
    let json = serde_json::to_vec(&json!({
        "version": modules.version, "kinds": kinds, "messages": table.messages
    }))?;
    // No name and no time in the header: the same sources make the same file.
    let mut compressed = GzBuilder::new().write(Vec::new(), Compression::best());
    compressed.write_all(&json)?;
    let compressed = compressed.finish()?;
    crate::file::put(&crate::root().join(FILE), &compressed, check)?;
    println!(
        "protobuf: {messages} messages, {fields} fields of {}, {} kB, {} kB compressed{}",
        modules.version,
        json.len() / 1000,
        compressed.len() / 1000,
        if check { ", current" } else { "" }
    );
    Ok(())
}

/// The protobuf package of an API group.
fn package_of(group: &str, version: &str) -> String {
    match group.split('.').next().unwrap_or_default() {
        "" => format!("k8s.io.api.core.{version}"),
        "apiextensions" => format!("k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.{version}"),
        name => format!("k8s.io.api.{name}.{version}"),
    }
}

/// Where the sources of the modules lie.
struct Modules {
    /// The version of the modules, for example `v0.36.3`.
    version: String,
    cache: PathBuf,
}

impl Modules {
    fn find() -> Result<Self> {
        let folder = crate::root().join("hack/kube/kubernetes");
        let pinned = fs::read_to_string(folder.join("go.mod"))?;
        // The replacements hold for what is built; the requirements above them are those of others.
        let version_of = |module: &str| {
            let replaced = format!("{module} => {module} ");
            let version = pinned.lines().find_map(|line| line.trim().strip_prefix(&replaced));
            version.with_context(|| format!("go.mod does not replace {module}"))
        };
        let version = version_of(MODULES[0])?.to_owned();
        for module in MODULES {
            ensure!(
                version_of(module)? == version,
                "{module} is not pinned to {version} like {}",
                MODULES[0]
            );
        }
        let found = Self { version, cache: module_cache()? };
        let missing: Vec<_> = MODULES.into_iter().filter(|module| !found.folder(module).is_dir()).collect();
        if !missing.is_empty() {
            let fetched =
                Command::new("go").args(["mod", "download"]).args(&missing).current_dir(&folder).status();
            ensure!(
                fetched.is_ok_and(|status| status.success()) && found.folder(MODULES[0]).is_dir(),
                "{missing:?} {} are not in {} and could not be fetched: run `go mod download` in {}",
                found.version,
                found.cache.display(),
                folder.display()
            );
        }
        Ok(found)
    }

    fn folder(&self, module: &str) -> PathBuf {
        self.cache.join(format!("{module}@{}", self.version))
    }

    /// The folder of a protobuf package, for example `k8s.io.api.core.v1`.
    fn package(&self, package: &str) -> Result<PathBuf> {
        let steps = package.strip_prefix("k8s.io.").context("a package outside of Kubernetes")?;
        let (module, path) = steps.split_once('.').context("a package without a path")?;
        let folder = self.folder(&format!("k8s.io/{}", module.replace('_', "-")));
        Ok(folder.join(path.replace('.', "/")))
    }
}

/// The folder of Go's module cache.
fn module_cache() -> Result<PathBuf> {
    if let Some(cache) = env::var_os("GOMODCACHE").filter(|path| !path.is_empty()) {
        return Ok(cache.into());
    }
    let go = match env::var_os("GOPATH").filter(|path| !path.is_empty()) {
        Some(paths) => env::split_paths(&paths).next().context("GOPATH is empty")?,
        None => Path::new(&env::var_os("HOME").context("HOME is not set")?).join("go"),
    };
    Ok(go.join("pkg/mod"))
}

/// The declarations of one package.
struct Package {
    messages: BTreeMap<String, Vec<ProtoField>>,
    structs: BTreeMap<String, Vec<GoField>>,
    /// Types that are lists of strings.
    lists: Vec<String>,
}

impl Package {
    fn read(folder: &Path) -> Result<Self> {
        let proto = fs::read_to_string(folder.join("generated.proto"))
            .with_context(|| format!("{} has no generated.proto", folder.display()))?;
        let mut package =
            Self { messages: proto::messages(&proto)?, structs: BTreeMap::new(), lists: Vec::new() };
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if name.ends_with(".go") && !name.ends_with("_test.go") && !name.contains("generated") {
                let source = fs::read_to_string(&path)?;
                package.structs.extend(go::structs(&source).with_context(|| format!("{}", path.display()))?);
                package.lists.extend(go::lists_of_strings(&source));
            }
        }
        Ok(package)
    }
}

/// The table as it grows.
struct Table<'a> {
    modules: &'a Modules,
    packages: BTreeMap<String, Package>,
    /// For each message its fields: number, name in JSON, type, presence.
    messages: BTreeMap<String, Vec<Value>>,
}

impl Table<'_> {
    /// Takes a message and all that it refers to.
    fn take(&mut self, message: &str) -> Result<()> {
        if self.messages.contains_key(message) {
            return Ok(());
        }
        let (package, name) =
            message.rsplit_once('.').with_context(|| format!("{message} has no package"))?;
        let declared = self.package(package)?;
        let wire =
            declared.messages.get(name).with_context(|| format!("{message} is in no generated.proto"))?;
        let fields = declared.structs.get(name).with_context(|| format!("{message} is no struct in Go"))?;
        let joined = join(wire, fields).with_context(|| message.to_owned())?;
        // A message that refers to itself must find itself taken.
        self.messages.insert(message.to_owned(), Vec::new());
        let mut rows = Vec::new();
        for (wire, field) in joined {
            let base = self.name_type(&wire.base, package)?;
            let presence = presence(&wire, &base, &field).with_context(|| format!("{message}: {field:?}"))?;
            let shape = match wire.shape {
                Shape::One => "",
                Shape::List => "[]",
                Shape::Map => "{}",
            };
            rows.push(json!([wire.number, field.json, format!("{shape}{base}"), presence]));
        }
        self.messages.insert(message.to_owned(), rows);
        Ok(())
    }

    fn package(&mut self, package: &str) -> Result<&Package> {
        if !self.packages.contains_key(package) {
            let read = Package::read(&self.modules.package(package)?)?;
            self.packages.insert(package.to_owned(), read);
        }
        Ok(&self.packages[package])
    }

    /// What the table calls a type on the wire; takes it if it is a message.
    fn name_type(&mut self, base: &str, package: &str) -> Result<String> {
        if ["bool", "bytes", "double", "int32", "int64", "string"].contains(&base) {
            return Ok(base.to_owned());
        }
        let message = match base.strip_prefix('.') {
            Some(full) => full.to_owned(),
            None => format!("{package}.{base}"),
        };
        if let Some((_, special)) = SPECIAL.iter().find(|(name, _)| *name == message) {
            return Ok((*special).to_owned());
        }
        let (package, name) = message.rsplit_once('.').unwrap_or_default();
        if self.package(package)?.lists.iter().any(|list| list == name) {
            return Ok("strings".to_owned());
        }
        self.take(&message)?;
        Ok(message)
    }
}

/// Puts the fields on the wire and the fields of the struct together.
fn join(wire: &[ProtoField], fields: &[GoField]) -> Result<Vec<(ProtoField, GoField)>> {
    ensure!(wire.len() == fields.len(), "{} fields on the wire, {} in Go", wire.len(), fields.len());
    let mut wire = wire.to_vec();
    wire.sort_by_key(|field| field.number);
    let find = |number| fields.iter().find(|field| field.number == number);
    wire.into_iter()
        .map(|field| {
            let found = find(field.number).with_context(|| format!("Go has no field {}", field.number))?;
            Ok((field, found.clone()))
        })
        .collect()
}

/// When a field is in the JSON: `pointer` if it is set, `nullable` likewise but else null, `omit` if it is not
/// zero, `zero` always. `inline` puts the message's own fields there instead, and the fields of a `union` stand
/// for the whole message.
fn presence(wire: &ProtoField, base: &str, field: &GoField) -> Result<&'static str> {
    let Some(json) = &field.json else {
        return Ok("union");
    };
    let is_struct = wire.shape == Shape::One
        && !matches!(base, "bool" | "bytes" | "double" | "int32" | "int64" | "string");
    ensure!(!(field.pointer && wire.shape != Shape::One), "a pointer to a list or map");
    ensure!(!field.omit_zero || matches!(base, "time" | "microTime"), "omitzero of what is no time");
    ensure!(base != "bytes" || wire.shape != Shape::One || field.omit_empty, "bytes that can be null");
    ensure!(base != "strings" || wire.shape != Shape::One, "a list of lists");
    Ok(match (json.is_empty(), field.pointer) {
        (true, false) if is_struct && base.contains('.') => "inline",
        (true, _) => bail!("an inlined field that is no struct"),
        (false, true) if field.omit_empty => "pointer",
        (false, true) => "nullable",
        // Go never takes a struct for empty.
        (false, false) if field.omit_zero || (field.omit_empty && !is_struct) => "omit",
        (false, false) => "zero",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_and_struct_meet_by_number() {
        let wire = proto::messages(
            "message A {\n  optional string b = 2;\n  optional int32 a = 1;\n  optional C c = 3;\n}\n",
        )
        .unwrap();
        let source = "type A struct {\n\tOne *int32 `json:\"uno,omitempty\" protobuf:\"varint,1,opt,name=a\"`\n\
                      \tTwo Word `json:\"dos\" protobuf:\"bytes,2,opt,name=b\"`\n\
                      \tC `json:\",inline\" protobuf:\"bytes,3,opt,name=c\"`\n}\n";
        let structs = go::structs(source).unwrap();
        let joined = join(&wire["A"], &structs["A"]).unwrap();
        let told = |(wire, field): &(ProtoField, GoField)| {
            let base = if wire.base == "C" { "p.C" } else { &wire.base };
            (field.json.clone().unwrap(), presence(wire, base, field).unwrap())
        };
        assert_eq!(
            joined.iter().map(told).collect::<Vec<_>>(),
            [("uno".to_owned(), "pointer"), ("dos".to_owned(), "zero"), (String::new(), "inline")]
        );
        assert!(join(&wire["A"], &structs["A"][..2]).is_err());
    }

    #[test]
    fn packages_are_named_after_groups() {
        assert_eq!(package_of("", "v1"), "k8s.io.api.core.v1");
        assert_eq!(package_of("rbac.authorization.k8s.io", "v1"), "k8s.io.api.rbac.v1");
        let modules = Modules { version: "v1".to_owned(), cache: "/mod".into() };
        let folder = modules.package(&package_of("apiextensions.k8s.io", "v1")).unwrap();
        assert_eq!(folder, Path::new("/mod/k8s.io/apiextensions-apiserver@v1/pkg/apis/apiextensions/v1"));
    }
}
