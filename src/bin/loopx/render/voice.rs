//! The commands that are printed for the reader: complete, with the options that this call was given.

use crate::cli::Global;

/// How a command has to be spelled to mean the same ledger, goal and speaker as this call.
#[derive(Debug, Clone, Default)]
pub struct Voice {
    place: String,
    speaker: String,
}

impl Voice {
    /// From the options of this call. What came from the environment is there for the next one too.
    pub fn of(global: &Global) -> Self {
        let mut place = String::new();
        let add = |to: &mut String, name: &str, value: Option<String>| {
            if let Some(value) = value {
                to.push_str(&format!(" --{name} {}", quoted(&value)));
            }
        };
        add(&mut place, "dir", global.dir.as_ref().map(|dir| dir.display().to_string()));
        add(&mut place, "goal", global.goal.as_ref().map(ToString::to_string));
        if global.force_filesystem {
            place.push_str(" --force-filesystem");
        }
        let mut speaker = String::new();
        add(&mut speaker, "agent", global.agent.as_ref().map(ToString::to_string));
        add(&mut speaker, "as", global.owner.as_ref().map(ToString::to_string));
        add(&mut speaker, "session", global.session.as_ref().map(ToString::to_string));
        Self { place, speaker }
    }

    /// A command of the same speaker: `command("next")` is `loopx --agent a1 next`.
    pub fn command(&self, rest: &str) -> String {
        format!("loopx{}{} {rest}", self.place, self.speaker)
    }

    /// A command that someone else, an owner, gives.
    pub fn owner(&self, rest: &str) -> String {
        format!("loopx{} {rest}", self.place)
    }

    /// A command of an agent that is named here.
    pub fn agent(&self, agent: &loopx::id::AgentId, rest: &str) -> String {
        format!("loopx{} --agent {agent} {rest}", self.place)
    }

    /// Completes a command that is spelled without options; what is no command of this program stays as it is.
    pub fn complete(&self, command: &str) -> String {
        match command.strip_prefix("loopx ") {
            Some(rest) => self.command(rest),
            None => command.to_owned(),
        }
    }
}

/// A word for a shell.
pub fn quoted(word: &str) -> String {
    let plain = |b: u8| {
        b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-' | b'/' | b':' | b'@' | b'+' | b'=')
    };
    if !word.is_empty() && word.bytes().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_survives_the_shell() {
        for (word, spelled) in
            [("a1", "a1"), ("/x/y z", "'/x/y z'"), ("it's", "'it'\\''s'"), ("", "''"), ("$HOME", "'$HOME'")]
        {
            assert_eq!(quoted(word), spelled);
        }
    }
}
