//! `cargo xtask gen cli`: the reference of the command line, as the program itself prints it.

use roost_tests::assets::repository;

use crate::source_rules::shown;
use crate::task::{self, TaskError};

/// Writes `docs/reference/cli.md`, or checks that it is what would be written.
pub(crate) fn run(check: bool) -> Result<(), TaskError> {
    let mut command = task::cargo();
    command.args(["run", "--package", "hcp", "--locked", "--quiet", "--", "reference"]);
    let output = command.output().map_err(|source| TaskError::Start { program: "cargo".to_owned(), source })?;
    if !output.status.success() {
        return Err(TaskError::Found(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let path = repository().join("docs").join("reference").join("cli.md");
    if !check {
        let folder = path.parent().unwrap_or(&path);
        return std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&path, output.stdout))
            .map_err(|source| TaskError::File { path, source });
    }
    if std::fs::read(&path).ok() == Some(output.stdout) {
        println!("the reference of the command line is up to date");
        Ok(())
    } else {
        Err(TaskError::Found(format!("not what `cargo xtask gen cli` writes: {}", shown(&path))))
    }
}
