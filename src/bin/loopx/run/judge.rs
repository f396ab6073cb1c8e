//! What `show` and `history` add about a gate or a piece of evidence: the judgment, and what it rests on.

use loopx::id::{EvidenceId, GateId};
use loopx::ledger::Ledger;
use loopx::project::evidence::Piece;
use loopx::project::ruling::Ruling;
use serde_json::Value;

use crate::failure::Failure;
use crate::render::Output;
use crate::render::judgment::{self, Moment};

/// A gate or a piece of evidence, as the log has it.
pub enum Judged {
    /// A gate.
    Gate(Box<Ruling>),
    /// A piece of evidence.
    Evidence(Box<Piece>),
}

/// Reads what the log says about a gate or a piece of evidence; none for anything else.
pub fn read(ledger: &mut Ledger, id: &str) -> Result<Option<Judged>, Failure> {
    if let Ok(gate) = id.parse::<GateId>() {
        return Ok(Ruling::read(ledger, gate)?.map(|ruling| Judged::Gate(Box::new(ruling))));
    }
    match id.parse::<EvidenceId>() {
        Ok(evidence) => Ok(Piece::read(ledger, evidence)?.map(|piece| Judged::Evidence(Box::new(piece)))),
        Err(_) => Ok(None),
    }
}

impl Judged {
    /// The lines for people.
    pub fn lines(&self, at: Moment<'_>) -> String {
        match self {
            Self::Gate(ruling) => judgment::ruling_lines(ruling, at),
            Self::Evidence(piece) => judgment::evidence_lines(piece, at),
        }
    }

    /// What the state recorded of a piece of evidence does not know its age.
    pub fn correct(&self, object: &mut Value, at: Moment<'_>) {
        if let (Self::Evidence(piece), Value::Object(fields)) = (self, object) {
            fields.insert("standing".to_owned(), judgment::standing(piece.ended_at(at.seq, at.now)).into());
        }
    }

    /// The answer with the key for programs.
    pub fn keyed(&self, output: Output, at: Moment<'_>) -> Output {
        match self {
            Self::Gate(ruling) => output.with("ruling", judgment::ruling_json(ruling, at)),
            Self::Evidence(piece) => output.with("standing", judgment::evidence_json(piece, at)),
        }
    }
}
