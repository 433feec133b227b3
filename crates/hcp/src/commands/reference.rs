//! The reference of all commands as Markdown, made from the commands themselves. `docs/reference/cli.md` is its output.

use std::fmt::Write as _;

use clap::{Arg, Command as Clap};

use crate::arguments::Arguments;

use super::error::CommandError;
use super::printed;

/// Prints the page.
pub(super) fn print() -> Result<(), CommandError> {
    Ok(printed::print(&page())?)
}

/// The whole page.
pub(crate) fn page() -> String {
    let mut root = Arguments::complete_command();
    root.build();
    let mut page = String::from(
        "# The commands of `hcp`\n\nWritten by `cargo xtask gen cli`; do not edit. Flags that stand at `hcp create cluster`, `hcp create nodepool` and\n`hcp destroy cluster` may be given before or after the platform.\n",
    );
    add(&root, &mut Vec::new(), &mut page);
    page
}

fn add(command: &Clap, above: &mut Vec<String>, page: &mut String) {
    let inherited: Vec<String> = above.clone();
    let words = command.get_bin_name().unwrap_or(command.get_name()).to_owned();
    let _ = write!(page, "\n## `{words}`\n\n");
    if let Some(about) = command.get_long_about().or(command.get_about()) {
        let _ = write!(page, "{}\n\n", about.to_string().trim_end_matches('.').to_owned() + ".");
    }
    let usage = command.clone().render_usage().to_string();
    let _ = write!(page, "```\n{}\n```\n", usage.trim_start_matches("Usage: "));
    let below: Vec<&Clap> = command.get_subcommands().filter(|below| !below.is_hide_set()).collect();
    if !below.is_empty() {
        page.push_str("\n| command | what it does |\n| --- | --- |\n");
        for command in &below {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(page, "| `{}` | {} |", command.get_name(), cell(&about));
        }
    }
    let arguments: Vec<&Arg> = command
        .get_arguments()
        .filter(|argument| !argument.is_hide_set() && !matches!(argument.get_id().as_str(), "help" | "version"))
        .filter(|argument| !inherited.contains(&argument.get_id().to_string()))
        .collect();
    if !arguments.is_empty() {
        page.push_str("\n| flag | what it means | default |\n| --- | --- | --- |\n");
        for argument in &arguments {
            page.push_str(&row(argument));
        }
    }
    if let Some(examples) = command.get_after_help() {
        let examples = examples.to_string();
        let lines: Vec<&str> = examples.lines().skip(1).map(str::trim).collect();
        let _ = write!(page, "\n```sh\n{}\n```\n", lines.join("\n"));
    }
    let global = arguments.iter().filter(|argument| argument.is_global_set());
    above.extend(global.map(|argument| argument.get_id().to_string()));
    for below in below {
        add(below, above, page);
    }
    *above = inherited;
}

fn row(argument: &Arg) -> String {
    let value = argument.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
    let takes_value = argument.get_action().takes_values();
    let switch = argument.is_require_equals_set();
    let value = match value {
        _ if switch || !takes_value => String::new(),
        Some(value) if argument.is_positional() => value,
        Some(value) => format!(" {value}"),
        None => String::new(),
    };
    let name = match (argument.get_short(), argument.get_long()) {
        (Some(short), Some(long)) => format!("`-{short}`, `--{long}{value}`"),
        (_, Some(long)) => format!("`--{long}{value}`"),
        _ => format!("`{value}`"),
    };
    let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
    let (help, default) = if let Some((help, default)) = help.rsplit_once(" [default: ") {
        (help.to_owned(), default.trim_end_matches(['.', ']']).to_owned())
    } else {
        let given: Vec<String> =
            argument.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
        let default = if argument.is_hide_default_value_set() { String::new() } else { given.join(",") };
        (help, if default.is_empty() { default } else { format!("`{default}`") })
    };
    let choices: Vec<String> = argument.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
    let choices = if choices.is_empty() || switch { String::new() } else { format!(" ({})", choices.join(", ")) };
    let help = help.trim_end_matches('.');
    format!("| {name} | {}{} | {} |\n", cell(help), cell(&choices), cell(&default))
}

fn cell(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|").trim_end().trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::page;

    #[test]
    fn the_reference_is_up_to_date() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/cli.md");
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert!(written == page(), "docs/reference/cli.md is not what `cargo xtask gen cli` writes");
    }
}
