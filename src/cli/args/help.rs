//! Owns what stands below the help of commands: examples and exit codes, of which man pages make sections.

pub(super) const TEPA: &str = "\
Examples:
  tepa init                                         a first task, a configuration, a workflow
  tepa validate prompts/task.yaml                   every fault of it, without a model
  tepa run prompts/task.yaml                        do it; the exit code is the verdict
  tepa runs show latest                             what happened

Exit codes: those of `tepa run` are 0 pass, 1 fail, 2 invalid, 3 terminated by a budget, 4 no verdict, 130 SIGINT, 143 SIGTERM; each command's own are in its help";

pub(super) const INIT: &str = "\
Examples:
  tepa init                                         asks, here
  tepa init jobs/report --yes                       asks nothing, in another folder
  tepa init --goal 'Summarise data.csv' --output-path out/summary.md --no-workflow
  tepa init --provider openai-compatible --model qwen3:8b --base-url http://localhost:11434

Exit codes:
  0    the files are there, written now or before
  2    invalid: command line, or what the files would say; nothing was written
  4    a file could not be written
  130  SIGINT, or the end of the input at a question; 143 SIGTERM: nothing was written";

pub(super) const VALIDATE: &str = "\
Examples:
  tepa validate task.yaml tepa.yaml                 every fault with its place
  tepa validate prompts --strict                    everything below a folder; a warning is a fault
  tepa validate 'prompts/**/*.yaml' --output sarif  for code scanning; `github` annotates the lines of a pull request

Exit codes: 0 valid, 1 faults found, 2 usage or unreadable file";

pub(super) const TOOLS_LIST: &str = "\
Examples:
  tepa tools list                                   every tool, with where it comes from
  tepa tools list --output json                     the same for programs, with schemas

Exit codes: 0 listed, 2 the configuration is invalid, 4 a server did not start, 130 SIGINT, 143 SIGTERM";

pub(super) const TOOLS_SHOW: &str = "\
Examples:
  tepa tools show file_read                         its parameters, and what they mean

Exit codes: 0 shown, 2 no such tool, or the configuration is invalid, 4 a server did not start, 130 SIGINT, 143 SIGTERM";

pub(super) const RUNS_LIST: &str = "\
Examples:
  tepa runs list                                    a table; ids are cut on a terminal
  tepa runs list --session class-5b --output json   those of a session, for programs

Exit codes: 0 listed, 2 the records cannot be read, 4 the output cannot be written";

pub(super) const RUNS_SHOW: &str = "\
Examples:
  tepa runs show latest                             the newest run
  tepa runs show 0198f3 --log-level verbose         with reasons, tool calls and tokens
  tepa runs show latest --output json               its result object

Exit codes: 0 shown, 2 no such run, no result, or its record cannot be used, 4 the output cannot be written";

pub(super) const RUNS_REPLAY: &str = "\
Examples:
  tepa runs replay latest                           all at once
  tepa runs replay 0198f3 --speed 10                with its pauses, ten times as fast
  tepa runs replay latest -q --output jsonl         its events, for programs

Exit codes:
  0    shown, as far as the run came and however it ended
  2    no such run, no result for `--output json`, or its record cannot be used
  4    the output cannot be written
  130  SIGINT; 143 SIGTERM";

pub(super) const RUNS_REPORT: &str = "\
Examples:
  tepa runs report latest                           as Markdown, on standard output
  tepa runs report 0198f3 --format html -o run.html a run by the beginning of its id

Exit codes: 0 written, 2 no such run, or its record cannot be used, 4 the output cannot be written";

pub(super) const RUNS_EVALUATE: &str = "\
Examples:
  tepa runs evaluate latest                         by the model that is configured
  tepa runs evaluate latest --evaluator-model gpt-5 by another one";

pub(super) const RUNS_RESUME: &str = "\
Examples:
  tepa runs resume latest                           after Ctrl-C, a crash, or a provider that was down
  tepa runs resume 0198f3 --max-tokens 200000       with more of what it ran out of";

pub(super) const RUNS_PLAN: &str = "\
Examples:
  tepa runs plan latest                             as Mermaid, on standard output
  tepa runs plan latest --format svg -o plan.svg    as a picture

Exit codes: 0 drawn, 2 no such run, no plan, or its record cannot be used, 4 the output cannot be written";

pub(super) const RUNS_GC: &str = "\
Examples:
  tepa runs gc --keep 20                            all but the newest 20
  tepa runs gc --older-than 30d --dry-run           what would go
  tepa runs gc --keep 5 --older-than 12h            a run goes when both say so
  tepa runs gc --keep 0 --resumable -q --output json for programs: ids and bytes

Exit codes: 0 removed, or nothing to remove, 2 usage, or the records cannot be read, 4 a record could not be removed, or the output cannot be written";

pub(super) const MEMORY_LIST: &str = "\
Examples:
  tepa memory list                                  all of them
  tepa memory list --session class-5b --output json those of a session, for programs

Exit codes: 0 listed, 2 no such store, 4 the store or the output cannot be used";

pub(super) const MEMORY_SHOW: &str = "\
Examples:
  tepa memory show 0198f3c2-7c1e-7000-8000-000000000000

Exit codes: 0 shown, 2 no such store or memory, 4 the store or the output cannot be used";

pub(super) const MEMORY_FORGET: &str = "\
Examples:
  tepa memory forget 0198f3c2-7c1e-7000-8000-000000000000
  tepa memory forget --session class-5b             everything that its runs left

Exit codes: 0 forgotten, 2 no such store, memory or session, 4 the store cannot be used";

pub(super) const COMPLETIONS: &str = "\
Examples:
  source <(tepa completions bash)                   in ~/.bashrc
  source <(tepa completions zsh)                    in ~/.zshrc, after compinit
  tepa completions fish | source                    in ~/.config/fish/config.fish

Exit codes: 0 printed, 2 no such shell, 4 the script cannot be written";

pub(super) const MAN: &str = "\
Examples:
  tepa man ~/.local/share/man/man1                  then: man tepa-run

Exit codes: 0 written, 2 usage, 4 a page cannot be written";

pub(super) const DOCTOR: &str = "\
Examples:
  tepa doctor                                       what works here and what does not
  tepa doctor --online                              asks providers as well whether they take the keys
  tepa doctor --output json                         for programs

Exit codes: 0 nothing that a run needs is missing, 1 something is, 2 usage, 4 the output cannot be written, 130 SIGINT, 143 SIGTERM";
