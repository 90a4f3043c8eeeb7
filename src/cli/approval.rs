//! Owns the asking at the terminal: questions on standard error, answers as lines on standard input.
//!
//! Nothing but an answer that was typed in full approves or accepts anything: what was typed before the question does not count, the end of
//! the input is a refusal, and what is not understood is asked again.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use console::Style as Paint;
use futures_util::future::BoxFuture;
use serde_json::Value;

use super::ui::Ui;
use super::{editor, keyboard, plan};
use crate::approval::{Approval, Approver, PlanAnswer, PlanQuestion, VerdictAnswer, VerdictQuestion};
use crate::config::{Config, Environment, LoggingLevel, Models};
use crate::plan::Plan;
use crate::render::{Style, prose, question};
use crate::secret::Secrets;
use crate::source::{Document, Format, SourceFile, to_yaml};
use crate::text;

/// The file that is edited.
const FILE: &str = "plan.yaml";

/// What stands above a plan that is edited.
const ABOVE: &str =
    "# Change the plan, save it and leave the editor. You are asked about it again before it is executed.\n";

/// Returns who is asked, and whether about plans and about verdicts that are fail.
pub(super) fn of(
    (plans, fails): (bool, bool),
    prompt: &Path,
    config: &Config,
    environment: &Environment,
    ui: &Ui,
) -> Approval {
    if !plans && !fails {
        return Approval::default();
    }
    let editor = ["VISUAL", "EDITOR"].iter().find_map(|name| environment.variable(name));
    let terminal = Terminal {
        who: format!("{} at the terminal", who(environment)),
        absent: absent(prompt, environment),
        level: config.logging.level,
        models: config.model.clone(),
        editor: editor.unwrap_or("vi").to_owned(),
        temporary: environment.temporary(),
        secrets: environment.secrets().clone(),
        draft: Mutex::default(),
        ui: ui.clone(),
    };
    Approval { approver: Some(Arc::new(terminal)), plans, fails }
}

fn who(environment: &Environment) -> String {
    let named = ["USER", "LOGNAME"].iter().find_map(|name| environment.variable(name));
    named.map_or_else(somebody, str::to_owned)
}

#[cfg(unix)]
fn somebody() -> String {
    format!("uid {}", rustix::process::getuid().as_raw())
}

#[cfg(not(unix))]
fn somebody() -> String {
    "somebody".to_owned()
}

/// Returns why there is nobody at a terminal, if so.
fn absent(prompt: &Path, environment: &Environment) -> Option<&'static str> {
    match () {
        () if prompt == Path::new("-") => Some("the prompt is read from standard input"),
        () if !environment.stdin_is_terminal => Some("standard input is no terminal"),
        () if !environment.stderr_is_terminal => Some("standard error is no terminal"),
        // Some of them have a terminal and nobody at it.
        () if environment.variable("CI").is_some() => Some("`CI` is set, and nobody watches a CI system"),
        () => None,
    }
}

/// The person at the terminal.
struct Terminal {
    who: String,
    absent: Option<&'static str>,
    ui: Ui,
    level: LoggingLevel,
    models: Models,
    editor: String,
    temporary: PathBuf,
    secrets: Secrets,
    /// An edit that could not be used, so that nobody has to begin again.
    draft: Mutex<Option<String>>,
}

/// What may be typed: a word, and what it means.
type Answer = (&'static str, &'static str);

const ABOUT_PLANS: [Answer; 4] = [
    ("yes", "execute the plan"),
    ("no", "end the run, exit 1; what follows the word is the reason"),
    ("edit", "change the plan in your editor, and be asked again"),
    ("why", "show the reasons for the plan, and what it costs"),
];

const ABOUT_VERDICTS: [Answer; 3] = [
    ("retry", "begin another cycle; what follows the word is told to the planner"),
    ("accept", "make it a pass, exit 0; what follows the word is the reason"),
    ("stop", "end the run, exit 1; what follows the word is the reason"),
];

impl Approver for Terminal {
    fn who(&self) -> String {
        self.who.clone()
    }

    fn available(&self) -> Result<(), String> {
        self.absent.map_or(Ok(()), |why| Err(why.to_owned()))
    }

    fn plan<'a>(&'a self, question: PlanQuestion<'a>) -> BoxFuture<'a, PlanAnswer> {
        Box::pin(self.ask_about_plan(question))
    }

    fn verdict<'a>(&'a self, question: VerdictQuestion<'a>) -> BoxFuture<'a, VerdictAnswer> {
        Box::pin(self.ask_about_verdict(question))
    }
}

impl Terminal {
    async fn ask_about_plan(&self, question: PlanQuestion<'_>) -> PlanAnswer {
        let PlanQuestion { cycle, plan, estimate, editable, problem } = question;
        if let Some(problem) = problem {
            self.complain(&format!(
                "the plan is what it was, because the edited one cannot be executed: {problem}"
            ));
        } else {
            self.keep(None);
            self.ui.say(&question::plan(cycle, plan, self.style()));
        }
        let mut answers = ABOUT_PLANS.to_vec();
        answers.retain(|(word, _)| editable || *word != "edit");
        loop {
            let Some((answer, rest)) = self.answer("execute it?", &answers).await else {
                return PlanAnswer::Refuse { comment: None };
            };
            match answer {
                "yes" => return PlanAnswer::Approve,
                "no" => return PlanAnswer::Refuse { comment: rest },
                "edit" => match self.edit(plan).await {
                    Ok(Some(edited)) => return PlanAnswer::Edit(edited),
                    Ok(None) => self.ui.say("nothing was changed\n"),
                    Err(problem) => self.complain(&problem),
                },
                _ => {
                    let Models { planner, executor, evaluator } = &self.models;
                    let models = format!("planner {planner}, steps {executor}, evaluator {evaluator}");
                    let facts = [("models", models), ("cost", plan::cost(estimate))];
                    self.ui.say(&question::reasons(plan, &facts, self.style()));
                }
            }
        }
    }

    async fn ask_about_verdict(&self, question: VerdictQuestion<'_>) -> VerdictAnswer {
        let VerdictQuestion { cycle, evaluation, cycles_left, acceptable } = question;
        self.ui.say(&question::verdict(cycle, evaluation, self.style()));
        let mut answers = ABOUT_VERDICTS.to_vec();
        answers.retain(|(word, _)| match *word {
            "retry" => cycles_left > 0,
            "accept" => acceptable,
            _ => true,
        });
        if !acceptable {
            self.ui.say("it cannot be accepted, because a protected file was changed\n");
        }
        let prompt = match cycles_left {
            0 => "no cycle is left.".to_owned(),
            left => format!("{} left.", text::plural("cycle", usize::try_from(left).unwrap_or(usize::MAX))),
        };
        let Some((answer, rest)) = self.answer(&prompt, &answers).await else {
            return VerdictAnswer::Stop { comment: None };
        };
        let comment = match (answer, rest) {
            ("stop", rest) => return VerdictAnswer::Stop { comment: rest },
            (_, Some(rest)) => Some(rest),
            (_, None) => {
                let prompt = if answer == "retry" { "what to tell the planner: " } else { "why: " };
                let Some(line) = keyboard::line(prompt, &self.ui).await else {
                    return VerdictAnswer::Stop { comment: None };
                };
                Some(line).filter(|line| !line.is_empty())
            }
        };
        if answer == "retry" { VerdictAnswer::Retry { comment } } else { VerdictAnswer::Accept { comment } }
    }

    /// Returns one of the answers, with what was typed behind it; nothing at the end of the input.
    async fn answer(&self, question: &str, answers: &[Answer]) -> Option<(&'static str, Option<String>)> {
        let words: Vec<&str> = answers.iter().map(|(word, _)| *word).collect();
        let prompt = format!("{} {}, ?: ", self.ui.styled(question, Paint::new().bold()), words.join(", "));
        loop {
            keyboard::forget();
            let line = keyboard::line(&prompt, &self.ui).await?;
            if line == "?" {
                self.ui.say(&question::answers(answers, self.style()));
                continue;
            }
            match understood(&line, answers) {
                Some(answer) => return Some(answer),
                None if line.is_empty() => {}
                None => self.ui.say(&format!("not understood: `{}`; ? lists the answers\n", prose(&line))),
            }
        }
    }

    /// Returns what the plan was changed to, if it was.
    async fn edit(&self, plan: &Plan) -> Result<Option<Value>, String> {
        let draft = self.draft.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let text = match draft {
            Some(draft) => draft,
            None => self.secrets.redact(&format!("{ABOVE}{}", to_yaml(plan)?)).into_owned(),
        };
        let edited = editor::edit(&self.editor, FILE, &text, &self.temporary).await?;
        if edited == text {
            return Ok(None);
        }
        self.keep(Some(edited.clone()));
        match Document::parse(SourceFile::from_text(FILE, edited, Format::Yaml)) {
            Ok(document) => Ok(Some(document.value().clone())),
            Err(faults) => {
                self.ui.faults(&faults);
                Err("the plan is what it was, because the edited one cannot be read".to_owned())
            }
        }
    }

    fn style(&self) -> Style {
        Style { color: self.ui.color, width: Ui::width(), ascii: self.ui.ascii, level: self.level }
    }

    fn keep(&self, draft: Option<String>) {
        *self.draft.lock().unwrap_or_else(PoisonError::into_inner) = draft;
    }

    fn complain(&self, problem: &str) {
        self.ui.say(&format!("{} {}\n", self.ui.styled("error:", Paint::new().red().bold()), prose(problem)));
    }
}

/// Returns the answer that a line gives, by its word or the first letter of it, with what follows the word.
fn understood(line: &str, answers: &[Answer]) -> Option<(&'static str, Option<String>)> {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let word = word.trim_end_matches([',', ':']).to_lowercase();
    let (answer, _) = answers.iter().find(|(answer, _)| *answer == word || answer[..1] == word)?;
    let rest = Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty());
    // `yes, but` is no yes.
    let takes_more = ["no", "retry", "accept", "stop"].contains(answer);
    (takes_more || rest.is_none()).then_some((*answer, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_word_or_its_first_letter() {
        let plans = |line| understood(line, &ABOUT_PLANS);
        assert_eq!(plans("yes"), Some(("yes", None)));
        assert_eq!(plans("Y"), Some(("yes", None)));
        assert_eq!(plans("no, it is too risky"), Some(("no", Some("it is too risky".into()))));
        for nonsense in ["", "ye", "yess", "yes, but not step 2", "edit it", "maybe", "1"] {
            assert_eq!(plans(nonsense), None, "{nonsense}");
        }
        let verdicts = |line| understood(line, &ABOUT_VERDICTS);
        assert_eq!(verdicts("r  use semicolons "), Some(("retry", Some("use semicolons".into()))));
        assert_eq!(verdicts("accept"), Some(("accept", None)));
        assert_eq!(verdicts("y"), None);
    }

    #[test]
    fn nobody_is_at_a_terminal_that_is_none() {
        let mut environment = Environment::of("/".into(), []);
        let absent = |environment: &Environment| super::absent(Path::new("task.yaml"), environment);
        assert_eq!(absent(&environment), Some("standard input is no terminal"));
        environment.stdin_is_terminal = true;
        assert_eq!(absent(&environment), Some("standard error is no terminal"));
        environment.stderr_is_terminal = true;
        assert_eq!(absent(&environment), None);
        assert!(super::absent(Path::new("-"), &environment).is_some());
    }

    #[test]
    fn whoever_decides_has_a_name() {
        let named = |variables: &[(&str, &str)]| {
            let variables = variables.iter().map(|(name, value)| (name.into(), value.into()));
            who(&Environment::of("/".into(), variables))
        };
        assert_eq!(named(&[("USER", "ada"), ("LOGNAME", "root")]), "ada");
        assert_eq!(named(&[("LOGNAME", "root")]), "root");
        assert!(!named(&[]).is_empty());
    }
}
