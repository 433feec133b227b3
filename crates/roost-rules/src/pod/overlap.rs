//! Files in a volume that get in each other's way.

use roost_object::Value;
use roost_object::field::quote;

use crate::check::{elements, text};

/// A file in a volume, and which of the volume's sources it comes from.
struct File {
    path: String,
    source: String,
}

impl File {
    fn list(items: &Value, source: &str) -> Vec<File> {
        elements(items)
            .iter()
            .map(|item| File { path: text(item, "path").to_owned(), source: source.to_owned() })
            .collect()
    }

    fn show(&self) -> String {
        if self.source.is_empty() { quote(&self.path) } else { format!("{} ({})", quote(&self.path), self.source) }
    }

    fn overlaps(&self, other: &File) -> bool {
        let within = |inner: &str, outer: &str| format!("{inner}/").starts_with(&format!("{outer}/"));
        !self.path.is_empty()
            && !other.path.is_empty()
            && (within(&self.path, &other.path) || within(&other.path, &self.path))
    }
}

/// Warns of files that would lie in each other's place.
pub(super) fn warn(volumes: &[Value], warnings: &mut Vec<String>) {
    for volume in volumes {
        let name = quote(text(volume, "name"));
        let object = |kind: &str, source: &Value, field: &str| format!("{kind} {}", quote(text(source, field)));
        for (field, describe) in [
            ("configMap", object("ConfigMap", &volume["configMap"], "name")),
            ("secret", object("Secret", &volume["secret"], "secretName")),
            ("downwardAPI", "DownwardAPI".to_owned()),
        ] {
            report_overlaps(File::list(&volume[field]["items"], ""), &name, &describe, warnings);
        }
        let mut files = Vec::new();
        for source in elements(&volume["projected"]["sources"]) {
            if source.as_object().is_none_or(|source| source.values().all(Value::is_null)) {
                warnings.push(format!("volume {name} (Projected) has no sources provided"));
                continue;
            }
            let has_items = |kind: &str| source[kind]["items"].is_array();
            if has_items("configMap") {
                let described = object("ConfigMap", &source["configMap"], "name");
                files.extend(File::list(&source["configMap"]["items"], &described));
            } else if has_items("secret") {
                files.extend(File::list(&source["secret"]["items"], &object("Secret", &source["secret"], "name")));
            } else if has_items("downwardAPI") {
                files.extend(File::list(&source["downwardAPI"]["items"], "DownwardAPI"));
            } else if !source["serviceAccountToken"].is_null() {
                let path = text(&source["serviceAccountToken"], "path").to_owned();
                files.push(File { path, source: "ServiceAccountToken".to_owned() });
            }
        }
        report_overlaps(files, &name, "Projected", warnings);
    }
}

fn report_overlaps(mut files: Vec<File>, volume: &str, describe: &str, warnings: &mut Vec<String>) {
    for file in &mut files {
        file.path.truncate(file.path.trim_end_matches('/').len());
    }
    for (index, file) in files.iter().enumerate() {
        for other in files[..index].iter().filter(|other| other.overlaps(file)) {
            warnings.push(format!(
                "volume {volume} ({describe}): overlapping paths: {} with {}",
                file.show(),
                other.show()
            ));
        }
    }
}
