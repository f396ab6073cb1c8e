//! Strings that look like secrets, or like paths into somebody's home: what should not be recorded or shown by accident.
//!
//! Only forms that are published by those who issue them are looked for, so that ordinary text is left alone. What is not
//! found may still be a secret.

use std::ops::Range;

use serde_json::Value;

/// What a string looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The header of a private key.
    PrivateKey,
    /// A token with the prefix of its issuer.
    Token(&'static str),
    /// A signed web token.
    WebToken,
    /// A password in an address.
    AddressPassword,
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::PrivateKey => f.write_str("a private key"),
            Self::Token(issuer) => write!(f, "a token of {issuer}"),
            Self::WebToken => f.write_str("a signed web token"),
            Self::AddressPassword => f.write_str("a password in an address"),
        }
    }
}

/// Prefix, issuer, and how many letters, digits, `_` or `-` follow at least.
const PREFIXES: &[(&str, &str, usize)] = &[
    ("AKIA", "AWS", 16),
    ("ASIA", "AWS", 16),
    ("ghp_", "GitHub", 36),
    ("gho_", "GitHub", 36),
    ("ghu_", "GitHub", 36),
    ("ghs_", "GitHub", 36),
    ("ghr_", "GitHub", 36),
    ("github_pat_", "GitHub", 60),
    ("glpat-", "GitLab", 20),
    ("sk-ant-", "Anthropic", 30),
    ("sk-proj-", "OpenAI", 30),
    ("sk-", "OpenAI", 40),
    ("xoxb-", "Slack", 20),
    ("xoxp-", "Slack", 20),
    ("xoxa-", "Slack", 20),
    ("xapp-", "Slack", 20),
    ("AIza", "Google", 35),
    ("ya29.", "Google", 30),
    ("hf_", "Hugging Face", 30),
    ("npm_", "npm", 36),
    ("pypi-", "PyPI", 60),
    ("sk_live_", "Stripe", 20),
    ("rk_live_", "Stripe", 20),
    ("crates-io-", "crates.io", 20),
    ("dop_v1_", "DigitalOcean", 60),
    ("SG.", "SendGrid", 50),
];

/// The first thing in a text that looks like a secret, and where.
#[must_use]
pub fn find(text: &str) -> Option<(Kind, Range<usize>)> {
    let whole = [private_key(text), token(text), web_token(text), address_password(text)];
    whole.into_iter().flatten().min_by_key(|(_, range)| range.start)
}

/// The first absolute path into a home directory, with the name of its owner.
#[must_use]
pub fn home_path(text: &str) -> Option<Range<usize>> {
    let roots = ["/home/", "/Users/", "C:\\Users\\", "/root/"];
    let found = roots.iter().filter_map(|root| {
        let start = at_word(text, root)?;
        let name = start + root.len();
        let rest = text.get(name..)?;
        let end = rest
            .find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ')' | ','))
            .unwrap_or(rest.len());
        (end > 0).then_some(start..name + end)
    });
    found.min_by_key(|range| range.start)
}

/// Visits every text in a JSON value with its place, such as `close.proof.0.summary`.
pub fn texts(json: &Value, visit: &mut impl FnMut(&str, &str)) {
    let mut left = vec![(String::new(), json)];
    while let Some((place, value)) = left.pop() {
        let below = |key: &str| if place.is_empty() { key.to_owned() } else { format!("{place}.{key}") };
        match value {
            Value::String(text) => visit(&place, text),
            Value::Array(items) => {
                left.extend(
                    items.iter().enumerate().rev().map(|(index, item)| (below(&index.to_string()), item)),
                );
            }
            Value::Object(map) => left.extend(map.iter().rev().map(|(key, item)| (below(key), item))),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Where `what` begins, at the beginning of a word or of a path.
fn at_word(text: &str, what: &str) -> Option<usize> {
    let starts = |(at, _): &(usize, &str)| {
        text.get(..*at)
            .and_then(|before| before.chars().next_back())
            .is_none_or(|c| !is_inside(c) && c != '/')
    };
    text.match_indices(what).find(starts).map(|(at, _)| at)
}

const fn is_inside(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

fn private_key(text: &str) -> Option<(Kind, Range<usize>)> {
    let start = text.find("-----BEGIN ")?;
    let rest = text.get(start..)?;
    let end = rest.find("PRIVATE KEY-----")?;
    (end < 40).then_some((Kind::PrivateKey, start..start + end + "PRIVATE KEY-----".len()))
}

fn token(text: &str) -> Option<(Kind, Range<usize>)> {
    let found = PREFIXES.iter().filter_map(|(prefix, issuer, least)| {
        let start = at_word(text, prefix)?;
        let body = text.get(start + prefix.len()..)?;
        let length = body.find(|c: char| !is_inside(c) && c != '.').unwrap_or(body.len());
        // Prose has no digit in a word this long.
        let dense = body.get(..length)?.bytes().any(|b| b.is_ascii_digit());
        (length >= *least && dense).then_some((Kind::Token(issuer), start..start + prefix.len() + length))
    });
    found.min_by_key(|(_, range)| (range.start, usize::MAX - range.end))
}

/// Three parts in base64, the first two of which are JSON objects.
fn web_token(text: &str) -> Option<(Kind, Range<usize>)> {
    let start = at_word(text, "eyJ")?;
    let rest = text.get(start..)?;
    let length = rest.find(|c: char| !is_inside(c) && c != '.').unwrap_or(rest.len());
    let mut parts = rest.get(..length)?.split('.');
    let (head, body, sign) = (parts.next()?, parts.next()?, parts.next()?);
    let long = head.len() >= 10 && body.len() >= 10 && sign.len() >= 20;
    (long && body.starts_with("eyJ") && parts.next().is_none())
        .then_some((Kind::WebToken, start..start + length))
}

/// `scheme://user:password@host`, unless the password is a placeholder.
fn address_password(text: &str) -> Option<(Kind, Range<usize>)> {
    text.match_indices("://").find_map(|(at, _)| {
        let rest = text.get(at + 3..)?;
        let end = rest
            .find(|c: char| c.is_whitespace() || matches!(c, '/' | '"' | '\'' | '?'))
            .unwrap_or(rest.len());
        let (user, _) = rest.get(..end)?.rsplit_once('@')?;
        let (_, password) = user.split_once(':')?;
        let placeholder = password.is_empty()
            || password.starts_with(['$', '<', '{', '*', '%'])
            || password.chars().all(|c| matches!(c, 'x' | 'X' | '.'));
        (!placeholder).then_some((Kind::AddressPassword, at + 3..at + 3 + user.len()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filler(length: usize) -> String {
        "a1B2c3D4e5".chars().cycle().take(length).collect()
    }

    #[test]
    fn every_published_form_is_found_in_the_middle_of_a_sentence() {
        for (prefix, issuer, least) in PREFIXES {
            let secret = format!("{prefix}{}", filler(*least));
            let text = format!("use \"{secret}\", not the old one");
            let (kind, range) = find(&text).unwrap_or_else(|| panic!("{prefix}"));
            assert_eq!((kind, &text[range]), (Kind::Token(issuer), secret.as_str()));
            let short = format!("use {prefix}{}", filler(least - 1));
            assert!(find(&short).is_none() || *issuer == "OpenAI", "{short}");
        }
        let jwt = format!("eyJ{}.eyJ{}.{}", filler(20), filler(20), filler(30));
        for (text, kind) in [
            ("-----BEGIN OPENSSH PRIVATE KEY-----\nabc", Kind::PrivateKey),
            ("-----BEGIN PRIVATE KEY-----", Kind::PrivateKey),
            ("pull postgres://app:hunter2@db/main", Kind::AddressPassword),
            (jwt.as_str(), Kind::WebToken),
        ] {
            assert_eq!(find(text).map(|(kind, _)| kind), Some(kind), "{text}");
        }
    }

    #[test]
    fn ordinary_text_is_left_alone() {
        for text in [
            "Reject duplicate keys in the reader",
            "sk-learn and sk-image are fine, and so is task-force",
            "see https://example.org/a@b and mailto:ana@example.org",
            "postgres://app:$PASSWORD@db/main and postgres://app:<password>@db",
            "-----BEGIN CERTIFICATE-----",
            "the digest is 9c41f0aa9c41f0aa9c41f0aa9c41f0aa9c41f0aa9c41f0aa9c41f0aa9c41f0aa",
            "sk-this-is-a-very-long-name-in-words-without-any-number-in-it",
            "hf_transfer, npm_config_registry",
            "eyJ is how base64 of a JSON object begins",
        ] {
            assert_eq!(find(text), None, "{text}");
        }
    }

    #[test]
    fn a_path_into_a_home_is_found_with_its_owner() {
        for (text, path) in [
            ("see /home/ana/iris/log, please", "/home/ana/iris/log"),
            ("(/Users/ana)", "/Users/ana"),
            ("at C:\\Users\\ana\\iris", "C:\\Users\\ana\\iris"),
        ] {
            assert_eq!(home_path(text).map(|range| &text[range]), Some(path));
        }
        for text in ["/srv/home/ana", "the /home/ directory", "src/home/page.rs", "a/Users/b"] {
            assert_eq!(home_path(text), None, "{text}");
        }
    }
}
