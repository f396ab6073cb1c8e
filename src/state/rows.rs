//! Open todos in a folded state, a row each: every command reads all of them, and most of what a todo can say is left
//! unsaid by most. A row is number, goal, record and spec; what few todos say follows only where it says anything.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use serde::{Serialize, Serializer};

use super::todo::{Fruitless, Todo, TodoStatus, Watch};
use super::{Claim, GateId, GoalId, Seq, TodoId};
use crate::event::TodoSpec;

/// What few todos say.
type Rest<Todos, Gates, Claim, Watch, Status> = (Status, Todos, Gates, Claim, (u64, u64), Fruitless, Watch);

type OwnRest = Rest<BTreeSet<TodoId>, BTreeSet<GateId>, Option<Claim>, Option<Watch>, TodoStatus>;

type RestOf<'a> =
    Rest<&'a BTreeSet<TodoId>, &'a BTreeSet<GateId>, &'a Option<Claim>, &'a Option<Watch>, &'a TodoStatus>;

#[derive(Serialize)]
#[serde(untagged)]
enum RowOf<'a> {
    Plain(u32, &'a GoalId, Seq, &'a TodoSpec),
    Full(u32, &'a GoalId, Seq, &'a TodoSpec, RestOf<'a>),
}

pub(super) fn serialize<S: Serializer>(todos: &BTreeMap<TodoId, Todo>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(todos.iter().map(|(TodoId(id), todo)| {
        let Todo { goal, spec, added, status, unmet, gates, claim, epoch, version, fruitless, watch } = todo;
        let waits = *status != TodoStatus::Open || !unmet.is_empty() || !gates.is_empty();
        let tried = claim.is_some()
            || (*epoch, *version) != (0, 0)
            || *fruitless != Fruitless::default()
            || watch.is_some();
        if waits || tried {
            let rest = (status, unmet, gates, claim, (*epoch, *version), *fruitless, watch);
            RowOf::Full(*id, goal, *added, spec, rest)
        } else {
            RowOf::Plain(*id, goal, *added, spec)
        }
    }))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<TodoId, Todo>, D::Error> {
    Ok(Vec::<OwnRow>::deserialize(from)?.into_iter().map(|OwnRow(id, todo)| (id, todo)).collect())
}

struct OwnRow(TodoId, Todo);

impl<'de> Deserialize<'de> for OwnRow {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_seq(RowVisitor)
    }
}

struct RowVisitor;

impl<'de> Visitor<'de> for RowVisitor {
    type Value = OwnRow;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a row of four or five")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut row: A) -> Result<OwnRow, A::Error> {
        let (id, goal) = (TodoId(next(&mut row)?), next(&mut row)?);
        let (added, spec) = (next(&mut row)?, next(&mut row)?);
        let plain =
            || (TodoStatus::Open, BTreeSet::new(), BTreeSet::new(), None, (0, 0), Fruitless::default(), None);
        let rest: OwnRest = row.next_element()?.unwrap_or_else(plain);
        let (status, unmet, gates, claim, (epoch, version), fruitless, watch) = rest;
        Ok(OwnRow(
            id,
            Todo { goal, spec, added, status, unmet, gates, claim, epoch, version, fruitless, watch },
        ))
    }
}

fn next<'de, A: SeqAccess<'de>, T: Deserialize<'de>>(row: &mut A) -> Result<T, A::Error> {
    row.next_element()?.ok_or_else(|| A::Error::custom("a row that ends early"))
}
