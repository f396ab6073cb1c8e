//! Each command that can be typed and appends: what has to be there first, and how it is typed. A plus is a space in a word.

/// A command: its kind, the commands before it, itself.
pub struct Typed {
    pub kind: &'static str,
    pub before: &'static [&'static str],
    pub line: &'static str,
}

const fn typed(kind: &'static str, before: &'static [&'static str], line: &'static str) -> Typed {
    Typed { kind, before, line }
}

const OWNER: &str = "owner register ana";
const TODO: &str = "add One";
const TWO: &str = "add Two";
const NEXT: &str = "next";
const AGENT: &str = "agent register ben";
const PROGRESS: &str =
    "refresh-state --next-action on --delivery-outcome outcome_progress --turn-instance-id U1";
const GRANT: &str = "agent grant ben --capability release --why once";
const NOTE: &str = "evidence add --about goal/g --summary seen";
const GATE: &str = "ask Which? --global";
const LEASE: &str = "lease acquire gpu";
const PAUSE: &str = "goal pause --why wait";
const CRITERION: &str = "goal change --accept shown --reason more";
const MET: &str = "goal accept A1 --evidence E1";
const QUOTA: &str = "quota set --slots 9 --why enough";
const METRIC: &str = "lineage metric accuracy --direction maximize --unit fraction --title right";
const DATA: &str = "lineage dataset wine --digest \
                    abababababababababababababababababababababababababababababababab --rows 9 --split dev \
                    --title wines";
const HYPOTHESIS: &str = "lineage hypothesis nearer";
const EXPERIMENT: &str = "lineage experiment --tests H1 --config k=3 --dataset wine";
const START: &str = "lineage trial start X1 --seed 7";
const END: &str = "lineage trial end R1";
const ROW: &str = "lineage evidence --trial R1 --metric accuracy --dataset wine --value 0.95 --n 9";
const ASK_ROW: &str = "ask Promote? --global --evidence E1";
const APPROVE: &str = "gate decide G1 approve --why yes --as ana";
const DONE: &str = "done T1 --proof x+=>+y --no-follow-up end";

/// All of them, in the order of `decide::Command`.
pub const COMMANDS: &[Typed] = &[
    typed("agent.register", &[], AGENT),
    typed("agent.update", &[AGENT], "agent update ben --capability gpu --why has --agent ben"),
    typed("agent.grant", &[AGENT], GRANT),
    typed("agent.revoke", &[AGENT, GRANT], "agent revoke ben --capability release --why over"),
    typed("agent.retire", &[AGENT], "agent retire ben --why gone"),
    typed("owner.register", &[], OWNER),
    typed("owner.revoke", &[OWNER, "owner register bo --as ana"], "owner revoke ana --why gone --as ana"),
    typed("goal.start", &[], "start-goal --name h --goal-text More"),
    typed("goal.change", &[], CRITERION),
    typed("goal.pause", &[], PAUSE),
    typed("goal.resume", &[PAUSE], "goal resume --why on"),
    typed("goal.complete", &[CRITERION, NOTE, MET], "goal complete --why reached"),
    typed("goal.abandon", &[TODO], "goal abandon --why no"),
    typed("goal.accept", &[CRITERION, NOTE], MET),
    typed("goal.reject", &[CRITERION, NOTE, MET], "goal reject A1 --why no"),
    typed("todo.add", &[], TODO),
    typed("todo.claim", &[TODO], "todo claim T1"),
    typed("todo.release", &[TODO, NEXT], "todo release T1 --why no"),
    typed(
        "todo.hand_over",
        &[
            OWNER,
            "agent register ben --as ana",
            "agent register cy --as ana",
            "add One --agent ben",
            "next --agent ben",
        ],
        "todo hand-over T1 --to cy --why you --agent ben",
    ),
    typed(
        "todo.delegate",
        &["agent register ben", "agent register cy", "add One --agent ben", "next --agent ben"],
        "todo delegate T1 --to cy --action update --why help --agent ben",
    ),
    typed("todo.update", &[TODO], "todo update T1 --title Better"),
    typed("todo.complete", &[TODO, NEXT], "todo complete T1 --proof x+=>+y --no-follow-up end"),
    typed("todo.block", &[TODO], "todo block T1 --why stuck"),
    typed("todo.defer", &[TODO], "todo defer T1 --why later"),
    typed("todo.reopen", &[TODO, "todo cancel T1 --why no"], "todo reopen T1 --why yes"),
    typed("todo.supersede", &[TODO, TWO], "todo supersede T1 --by T2 --why better"),
    typed("todo.cancel", &[TODO], "todo cancel T1 --why no"),
    typed("gate.open", &[], GATE),
    typed("gate.decide", &[OWNER, GATE], APPROVE),
    typed(
        "gate.revoke",
        &[OWNER, "ask Which? --scope direction:goal:way --as ana", APPROVE],
        "gate revoke G1 --why no --as ana",
    ),
    typed("gate.withdraw", &[GATE], "gate withdraw G1 --why never"),
    typed("lease.acquire", &[], LEASE),
    typed("lease.renew", &[LEASE], "lease renew resource/gpu"),
    typed("lease.release", &[LEASE], "lease release gpu"),
    typed("evidence.add", &[], "evidence add --about goal/g --summary seen --file proof.txt"),
    typed("evidence.invalidate", &[NOTE], "evidence invalidate E1 --cause evaluator_bug --why wrong"),
    typed("evidence.supersede", &[NOTE, NOTE], "evidence supersede E1 --by E2 --why newer"),
    typed("next", &[TODO], NEXT),
    typed("done", &["add One --check true", NEXT], DONE),
    typed("yield", &[TODO, NEXT], "yield T1 --why no"),
    typed("block", &[TODO, NEXT], "block T1 --why stuck"),
    typed("monitor.poll", &["add Watch --watch CI --every 1h"], "monitor poll T1 --result green"),
    typed("refresh-state", &[], "refresh-state --next-action on"),
    typed("quota.set", &[], QUOTA),
    typed("quota.spend-slot", &[QUOTA, TODO, NEXT, PROGRESS], "quota spend-slot --slots 1 --todo-id T1"),
    typed("quota.budget", &[], "quota budget --tokens 9 --why enough"),
    typed("quota.void-slot", &[TODO, NEXT, DONE], "quota void-slot 5 --why test"),
    typed("lineage.metric", &[], METRIC),
    typed("lineage.dataset", &[], "lineage dataset wine --file proof.txt --rows 9 --split dev --title wines"),
    typed("lineage.hypothesis", &[], HYPOTHESIS),
    typed("lineage.experiment", &[METRIC, DATA, HYPOTHESIS], EXPERIMENT),
    typed("lineage.trial-start", &[METRIC, DATA, HYPOTHESIS, EXPERIMENT], START),
    typed("lineage.trial-end", &[METRIC, DATA, HYPOTHESIS, EXPERIMENT, START], END),
    typed(
        "lineage.promote",
        &[OWNER, METRIC, DATA, HYPOTHESIS, EXPERIMENT, START, ROW, END, ASK_ROW, APPROVE],
        "lineage promote Best --slot best --gate G1 --cites E1 --file proof.txt",
    ),
];
