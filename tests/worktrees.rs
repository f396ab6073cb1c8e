//! One repository has one ledger: found from its main worktree, a linked one, a directory below, by way of a link and
//! after a move, or refused by name.

mod binary;

use std::fs;
use std::path::Path;
use std::process::Command;

use binary::run;

fn git(dir: &Path, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.arg("-C").arg(dir).args(["-c", "user.name=ana", "-c", "user.email=ana@example.org"]).args(arguments);
    let done = git.output().expect("git is needed by this test");
    assert!(done.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn every_way_into_a_repository_leads_to_its_ledger_or_says_why_not() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap();
    let (main, linked) = (top.join("main"), top.join("linked"));
    fs::create_dir_all(main.join("deep/er")).unwrap();
    git(&main, &["init", "-q"]);
    git(&main, &["commit", "-q", "--allow-empty", "-m", "first"]);
    git(&main, &["worktree", "add", "-q", "../linked"]);
    fs::create_dir_all(linked.join("deep")).unwrap();

    // Created from anywhere in it, it lies beside the repository.
    run(&linked.join("deep"), &["init"]).ok();
    assert!(main.join(".loopx").is_dir() && !linked.join(".loopx").exists());
    run(&linked, &["start-goal", "--name", "g", "--goal-text", "one for all"]).ok();
    std::os::unix::fs::symlink(main.join("deep"), top.join("shortcut")).unwrap();
    for place in ["main", "main/deep/er", "linked", "linked/deep", "shortcut"] {
        let goals = run(&top.join(place), &["goal", "list"]).ok();
        assert_eq!(goals["goals"][0]["id"], "g", "{place}");
        assert_eq!(run(&top.join(place), &["init"]).error().0, "ledger.exists", "{place}");
    }

    // A second one in the same repository is refused wherever both are seen, and neither is touched.
    run(&top, &["--dir", "linked", "init"]).ok();
    assert_eq!(run(&linked, &["status"]).error(), ("ledger.two".to_owned(), Some(3)));
    assert_eq!(run(&linked, &["add", "lost?"]).error().0, "ledger.two");
    run(&main, &["status"]).ok();
    fs::remove_dir_all(linked.join(".loopx")).unwrap();
    run(&main, &["--dir", "deep", "init"]).ok();
    assert_eq!(run(&main.join("deep/er"), &["status"]).error().0, "ledger.two");
    fs::remove_dir_all(main.join("deep/.loopx")).unwrap();

    // Moved, the repository keeps its ledger; a worktree that still points to the old place says so.
    let moved = top.join("moved");
    fs::rename(&main, &moved).unwrap();
    assert_eq!(run(&moved, &["goal", "list"]).ok()["goals"][0]["id"], "g");
    assert_eq!(run(&linked, &["status"]).error(), ("worktree.broken".to_owned(), Some(3)));
    assert_eq!(run(&linked, &["init"]).error().0, "worktree.broken");
    git(&moved, &["worktree", "repair", "../linked"]);
    assert_eq!(run(&linked, &["goal", "list"]).ok()["goals"][0]["id"], "g");
}
