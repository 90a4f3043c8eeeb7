//! Owns how several answers of the judge become one verdict.
//!
//! One answer is enough when it is a pass that he is sure of. A fail, or a pass that he is not sure of, is asked again until a majority of
//! the seats agree; where none does, the verdict is fail. A pass whose criteria are not proven counts as a fail.

use super::criteria;
use crate::outcome::{Evaluation, Verdict, Vote};

/// Those who are heard.
pub(super) struct Jury {
    seats: usize,
    ask_again_below: f64,
    heard: Vec<Heard>,
}

struct Heard {
    answer: Evaluation,
    /// What it comes to.
    vote: Vote,
}

impl Jury {
    /// Returns a jury of `seats` answers, of which the first one alone decides when it is a pass with at least this confidence.
    pub(super) fn new(seats: u32, ask_again_below: f64) -> Self {
        let seats = usize::try_from(seats).unwrap_or(usize::MAX).max(1);
        Self { seats, ask_again_below, heard: Vec::new() }
    }

    /// Returns whether another answer is needed.
    pub(super) fn is_open(&self) -> bool {
        match self.heard.as_slice() {
            [] => true,
            [Heard { vote, .. }]
                if vote.verdict == Verdict::Pass && vote.confidence >= self.ask_again_below =>
            {
                false
            }
            heard => {
                let decided = [Verdict::Pass, Verdict::Fail]
                    .iter()
                    .any(|verdict| 2 * self.count(*verdict) > self.seats);
                !decided && heard.len() < self.seats
            }
        }
    }

    pub(super) fn hear(&mut self, answer: Evaluation) {
        let Evaluation { verdict, confidence, feedback, summary, .. } = criteria::overrule(answer.clone());
        let vote = Vote { verdict, confidence, reason: feedback.or(summary) };
        self.heard.push(Heard { answer, vote });
    }

    /// Returns the answer that stands: of those who agree with the majority the one that is surest, with all votes beside it.
    pub(super) fn verdict(self) -> Evaluation {
        let passed = self.count(Verdict::Pass) > self.count(Verdict::Fail);
        let verdict = if passed { Verdict::Pass } else { Verdict::Fail };
        let votes: Vec<Vote> = self.heard.iter().map(|heard| heard.vote.clone()).collect();
        let agreeing = self.heard.into_iter().filter(|heard| heard.vote.verdict == verdict);
        let surest = agreeing
            .map(|heard| heard.answer)
            .reduce(|surest, next| if next.confidence > surest.confidence { next } else { surest });
        let votes = if votes.len() > 1 { votes } else { Vec::new() };
        Evaluation { votes, ..surest.unwrap_or_else(|| Evaluation::new(Verdict::Fail, 0.0)) }
    }

    fn count(&self, verdict: Verdict) -> usize {
        self.heard.iter().filter(|heard| heard.vote.verdict == verdict).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{Fail, Pass};

    /// Asks until the jury is closed; returns how many were heard, and what stands.
    fn ask(seats: u32, answers: &[(Verdict, f64)]) -> (usize, Evaluation) {
        let mut jury = Jury::new(seats, 0.7);
        let mut answers = answers.iter();
        while jury.is_open() {
            let (verdict, confidence) = answers.next().expect("no further answer is asked for");
            jury.hear(Evaluation::new(*verdict, *confidence));
        }
        (jury.heard.len(), jury.verdict())
    }

    #[test]
    fn it_asks_no_more_than_a_majority_needs_and_a_pass_needs_one() {
        for (seats, answers, heard, verdict) in [
            (1, &[(Fail, 0.9)][..], 1, Fail),
            (1, &[(Pass, 0.1)], 1, Pass),
            (3, &[(Pass, 0.7)], 1, Pass),
            (3, &[(Pass, 0.69), (Pass, 0.2)], 2, Pass),
            (3, &[(Pass, 0.5), (Fail, 0.9), (Pass, 0.9)], 3, Pass),
            (3, &[(Pass, 0.5), (Fail, 0.9), (Fail, 0.9)], 3, Fail),
            (3, &[(Fail, 0.9), (Fail, 0.2)], 2, Fail),
            (3, &[(Fail, 0.9), (Pass, 1.0), (Pass, 1.0)], 3, Pass),
            (5, &[(Fail, 0.9), (Pass, 1.0), (Fail, 1.0), (Fail, 1.0)], 4, Fail),
            (2, &[(Fail, 0.9), (Pass, 1.0)], 2, Fail),
        ] {
            let (asked, stands) = ask(seats, answers);
            assert_eq!((asked, stands.verdict), (heard, verdict), "{seats} {answers:?}");
            assert_eq!(stands.votes.len(), if heard > 1 { heard } else { 0 });
        }
    }

    #[test]
    fn the_surest_of_the_majority_speaks() {
        let (_, stands) = ask(3, &[(Fail, 0.5), (Pass, 1.0), (Fail, 0.8)]);
        assert!((stands.confidence - 0.8).abs() < f64::EPSILON);
    }
}
