//! `help`: five topics on a page each, and the help of commands.

use clap::CommandFactory;

use crate::cli::{self, Cli};
use crate::failure::Failure;
use crate::render::Output;

/// The questions that people have, and the page that answers each.
pub const TOPICS: [(&str, &str); 5] = [
    ("objective", include_str!("topic/objective.txt")),
    ("next", include_str!("topic/next.txt")),
    ("judgment", include_str!("topic/judgment.txt")),
    ("evidence", include_str!("topic/evidence.txt")),
    ("continuation", include_str!("topic/continuation.txt")),
];

/// `help`: a topic's page, a command's help, or what there is. A topic comes before a command of the same name, whose
/// options `COMMAND --help` lists.
pub fn help(args: &cli::Help) -> Result<Output, Failure> {
    if let [word] = args.words.as_slice()
        && let Some((name, page)) = TOPICS.iter().find(|(name, _)| name == word)
    {
        return Ok(Output::text(*page).with("topic", *name).with("text", *page));
    }
    let mut command = Cli::command();
    command.build();
    for word in &args.words {
        let Some(below) = command.find_subcommand(word.as_str()).cloned() else {
            let names: Vec<&str> = TOPICS.iter().map(|(name, _)| *name).collect();
            let text = format!("`{word}` is no command, and none of the topics {}", names.join(", "));
            return Err(Failure::usage(text).hint("loopx --help"));
        };
        command = below;
        command.build();
    }
    let text = command.render_long_help().to_string();
    Ok(Output::text(text.clone()).with("text", text))
}

#[cfg(test)]
mod tests {
    use loopx::project::brief::columns;

    use super::TOPICS;

    #[test]
    fn a_topic_fits_a_page_and_shows_commands() {
        for (name, page) in TOPICS {
            assert!(page.lines().count() <= 40, "{name}");
            assert!(page.lines().all(|line| columns(line) <= 100), "{name}");
            assert!(
                page.lines().filter(|line| line.trim_start().starts_with("loopx ")).count() >= 4,
                "{name}"
            );
            assert!(page.ends_with('\n') && !page.contains('\t'), "{name}");
        }
    }
}
