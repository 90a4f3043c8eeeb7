//! Owns what stands below the help of commands: exit codes and examples, which man pages show as well.

pub(super) const INIT_EXIT_CODES: &str = "\
Exit codes:
  0    the files are there, written now or before
  2    invalid: command line, or what the files would say; nothing was written
  4    a file could not be written
  130  SIGINT, or the end of the input at a question; 143 SIGTERM: nothing was written";

pub(super) const INIT_EXAMPLES: &str = "\
Examples:
  tepa init                                         asks, here
  tepa init jobs/report --yes                       asks nothing, in another folder
  tepa init --goal 'Summarise data.csv' --output-path out/summary.md --no-workflow
  tepa init --provider openai-compatible --model qwen3:8b --base-url http://localhost:11434";
