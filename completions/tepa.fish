# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_tepa_global_optspecs
    string join \n log-level= color= q/quiet C/directory= h/help V/version
end

function __fish_tepa_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_tepa_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_tepa_using_subcommand
    set -l cmd (__fish_tepa_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c tepa -n "__fish_tepa_needs_command" -l log-level -d 'How much to show' -r -f -a "minimal\t'The final line only'
standard\t'Plan, steps, verdict'
verbose\t'With durations, tokens, reasoning, arguments, retries'"
complete -c tepa -n "__fish_tepa_needs_command" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tepa -n "__fish_tepa_needs_command" -s C -l directory -d 'Work in this folder' -r -F
complete -c tepa -n "__fish_tepa_needs_command" -s q -l quiet -d 'Show nothing but errors'
complete -c tepa -n "__fish_tepa_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tepa -n "__fish_tepa_needs_command" -s V -l version -d 'Print version'
complete -c tepa -n "__fish_tepa_needs_command" -f -a "run" -d 'Run a task'
complete -c tepa -n "__fish_tepa_needs_command" -f -a "plan" -d 'Make the plan of a task without executing it, with what it will cost'
complete -c tepa -n "__fish_tepa_needs_command" -f -a "validate" -d 'Check prompt and config files without calling a provider'
complete -c tepa -n "__fish_tepa_needs_command" -f -a "tools" -d 'Show the tools that a run has, and call one by hand'
complete -c tepa -n "__fish_tepa_needs_command" -f -a "runs" -d 'Make something of runs that are recorded under .tepa/runs'
complete -c tepa -n "__fish_tepa_needs_command" -f -a "memory" -d 'Show or remove what runs left for later runs'
complete -c tepa -n "__fish_tepa_needs_command" -f -a "config" -d 'Show the configuration, each value with who said it'
complete -c tepa -n "__fish_tepa_needs_command" -f -a "schema" -d 'Print the JSON Schema of what tepa reads or writes'
complete -c tepa -n "__fish_tepa_needs_command" -f -a "completions" -d 'Print a completion script'
complete -c tepa -n "__fish_tepa_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tepa -n "__fish_tepa_using_subcommand run" -l provider -d 'Who answers model calls' -r -f -a "anthropic\t''
openai\t''
gemini\t''
openai-compatible\t''
replay\t''"
complete -c tepa -n "__fish_tepa_using_subcommand run" -l base-url -d 'Reach the provider here instead of at its own address' -r
complete -c tepa -n "__fish_tepa_using_subcommand run" -l model -d 'The model of every role' -r
complete -c tepa -n "__fish_tepa_using_subcommand run" -l evaluator-model -d 'The evaluator\'s model' -r
complete -c tepa -n "__fish_tepa_using_subcommand run" -l replay -d 'Replies for `--provider replay` [default: PROMPT.replay.yaml beside the prompt]' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand run" -l config -d 'A configuration file, on top of the user\'s and the project\'s' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand run" -l set -d 'Set a value of the configuration, such as `limits.maxCycles=3` or `tools=[file_read]` (again for more)' -r
complete -c tepa -n "__fish_tepa_using_subcommand run" -l sandbox -d 'What commands and file tools may touch' -r -f -a "read-only\t'Nothing is written'
workspace-write\t'The folder that the run works in is written'
off\t'Commands are not confined'"
complete -c tepa -n "__fish_tepa_using_subcommand run" -l max-tokens -d 'Tokens over all model calls before the run is terminated' -r
complete -c tepa -n "__fish_tepa_using_subcommand run" -l max-cost -d 'US dollars over all model calls before the run is terminated' -r
complete -c tepa -n "__fish_tepa_using_subcommand run" -l timeout -d 'Wall clock of the whole run, such as 90s or 1h 30m' -r
complete -c tepa -n "__fish_tepa_using_subcommand run" -l var -d 'A value for `{{NAME}}` in the task, or @FILE for what is in a file, or @@VALUE for one that begins with @ (again for more)' -r
complete -c tepa -n "__fish_tepa_using_subcommand run" -l planner-model -d 'The planner\'s model' -r
complete -c tepa -n "__fish_tepa_using_subcommand run" -l executor-model -d 'The executor\'s model' -r
complete -c tepa -n "__fish_tepa_using_subcommand run" -l tools -d 'The tools of the run, instead of all: names, or rules such as `shell_execute(git *)`' -r
complete -c tepa -n "__fish_tepa_using_subcommand run" -l deny-tool -d 'Leave a tool out, or deny the calls that match a rule (again for more)' -r
complete -c tepa -n "__fish_tepa_using_subcommand run" -l max-cycles -d 'Cycles before the run fails' -r
complete -c tepa -n "__fish_tepa_using_subcommand run" -l max-tool-calls -d 'Calls of tools before the run is terminated' -r
complete -c tepa -n "__fish_tepa_using_subcommand run" -l tool-timeout -d 'Milliseconds per tool call' -r
complete -c tepa -n "__fish_tepa_using_subcommand run" -l session -d 'Share history and memory with the runs that have the same key' -r
complete -c tepa -n "__fish_tepa_using_subcommand run" -l plan -d 'Execute this plan, made by `tepa plan`, and no other' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand run" -l record -d 'Write every reply of the provider to this file, for `--replay`' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand run" -l output -d 'What standard output carries: the feedback, one result object, or one event a line' -r -f -a "text\t'The final feedback'
json\t'One result object'
jsonl\t'One event a line'"
complete -c tepa -n "__fish_tepa_using_subcommand run" -l result -d 'Write the result to this file as well' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand run" -l report -d 'Write a report to this file, such as junit=report.xml (again for more, or with commas in between)' -r
complete -c tepa -n "__fish_tepa_using_subcommand run" -l log-level -d 'How much to show' -r -f -a "minimal\t'The final line only'
standard\t'Plan, steps, verdict'
verbose\t'With durations, tokens, reasoning, arguments, retries'"
complete -c tepa -n "__fish_tepa_using_subcommand run" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tepa -n "__fish_tepa_using_subcommand run" -s C -l directory -d 'Work in this folder' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand run" -l hermetic -d 'Read neither the user\'s configuration nor the project\'s'
complete -c tepa -n "__fish_tepa_using_subcommand run" -l allow-unknown -d 'Take unknown keys in files as warnings'
complete -c tepa -n "__fish_tepa_using_subcommand run" -l strict -d 'Fail a task that has nothing to verify: no path, no check, no criterion'
complete -c tepa -n "__fish_tepa_using_subcommand run" -l no-session -d 'Share neither with any run, whatever the configuration says'
complete -c tepa -n "__fish_tepa_using_subcommand run" -l replan -d 'Let the planner go on when the plan of `--plan` did not pass'
complete -c tepa -n "__fish_tepa_using_subcommand run" -l approve -d 'Show every plan before it is executed, and ask at the terminal; where there is none, the plan is refused'
complete -c tepa -n "__fish_tepa_using_subcommand run" -l ask-on-fail -d 'Ask at the terminal what to do about a fail: retry, accept, stop; where there is none, the run stops'
complete -c tepa -n "__fish_tepa_using_subcommand run" -l no-journal -d 'Do not record the run under .tepa/runs'
complete -c tepa -n "__fish_tepa_using_subcommand run" -s q -l quiet -d 'Show nothing but errors'
complete -c tepa -n "__fish_tepa_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tepa -n "__fish_tepa_using_subcommand run" -s V -l version -d 'Print version'
complete -c tepa -n "__fish_tepa_using_subcommand plan" -l provider -d 'Who answers model calls' -r -f -a "anthropic\t''
openai\t''
gemini\t''
openai-compatible\t''
replay\t''"
complete -c tepa -n "__fish_tepa_using_subcommand plan" -l base-url -d 'Reach the provider here instead of at its own address' -r
complete -c tepa -n "__fish_tepa_using_subcommand plan" -l model -d 'The model of every role' -r
complete -c tepa -n "__fish_tepa_using_subcommand plan" -l evaluator-model -d 'The evaluator\'s model' -r
complete -c tepa -n "__fish_tepa_using_subcommand plan" -l replay -d 'Replies for `--provider replay` [default: PROMPT.replay.yaml beside the prompt]' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand plan" -l config -d 'A configuration file, on top of the user\'s and the project\'s' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand plan" -l set -d 'Set a value of the configuration, such as `limits.maxCycles=3` or `tools=[file_read]` (again for more)' -r
complete -c tepa -n "__fish_tepa_using_subcommand plan" -l sandbox -d 'What commands and file tools may touch' -r -f -a "read-only\t'Nothing is written'
workspace-write\t'The folder that the run works in is written'
off\t'Commands are not confined'"
complete -c tepa -n "__fish_tepa_using_subcommand plan" -l max-tokens -d 'Tokens over all model calls before the run is terminated' -r
complete -c tepa -n "__fish_tepa_using_subcommand plan" -l max-cost -d 'US dollars over all model calls before the run is terminated' -r
complete -c tepa -n "__fish_tepa_using_subcommand plan" -l timeout -d 'Wall clock of the whole run, such as 90s or 1h 30m' -r
complete -c tepa -n "__fish_tepa_using_subcommand plan" -l var -d 'A value for `{{NAME}}` in the task, or @FILE for what is in a file, or @@VALUE for one that begins with @ (again for more)' -r
complete -c tepa -n "__fish_tepa_using_subcommand plan" -l planner-model -d 'The planner\'s model' -r
complete -c tepa -n "__fish_tepa_using_subcommand plan" -l executor-model -d 'The executor\'s model' -r
complete -c tepa -n "__fish_tepa_using_subcommand plan" -l tools -d 'The tools of the run, instead of all: names, or rules such as `shell_execute(git *)`' -r
complete -c tepa -n "__fish_tepa_using_subcommand plan" -l deny-tool -d 'Leave a tool out, or deny the calls that match a rule (again for more)' -r
complete -c tepa -n "__fish_tepa_using_subcommand plan" -l max-cycles -d 'Cycles before the run fails' -r
complete -c tepa -n "__fish_tepa_using_subcommand plan" -l max-tool-calls -d 'Calls of tools before the run is terminated' -r
complete -c tepa -n "__fish_tepa_using_subcommand plan" -l tool-timeout -d 'Milliseconds per tool call' -r
complete -c tepa -n "__fish_tepa_using_subcommand plan" -l session -d 'Share history and memory with the runs that have the same key' -r
complete -c tepa -n "__fish_tepa_using_subcommand plan" -s o -l output -d 'Write to this file instead of standard output' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand plan" -l format -d 'The form of the plan; `json` is what `tepa run --plan` takes [default: text, with --output json]' -r -f -a "text\t''
json\t''
mermaid\t''
dot\t''
svg\t''"
complete -c tepa -n "__fish_tepa_using_subcommand plan" -l log-level -d 'How much to show' -r -f -a "minimal\t'The final line only'
standard\t'Plan, steps, verdict'
verbose\t'With durations, tokens, reasoning, arguments, retries'"
complete -c tepa -n "__fish_tepa_using_subcommand plan" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tepa -n "__fish_tepa_using_subcommand plan" -s C -l directory -d 'Work in this folder' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand plan" -l hermetic -d 'Read neither the user\'s configuration nor the project\'s'
complete -c tepa -n "__fish_tepa_using_subcommand plan" -l allow-unknown -d 'Take unknown keys in files as warnings'
complete -c tepa -n "__fish_tepa_using_subcommand plan" -l strict -d 'Fail a task that has nothing to verify: no path, no check, no criterion'
complete -c tepa -n "__fish_tepa_using_subcommand plan" -l no-session -d 'Share neither with any run, whatever the configuration says'
complete -c tepa -n "__fish_tepa_using_subcommand plan" -s q -l quiet -d 'Show nothing but errors'
complete -c tepa -n "__fish_tepa_using_subcommand plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tepa -n "__fish_tepa_using_subcommand plan" -s V -l version -d 'Print version'
complete -c tepa -n "__fish_tepa_using_subcommand validate" -l kind -d 'Take every file for one of this kind instead of telling by what is in it' -r -f -a "prompt\t'A task'
config\t'A configuration'
replay\t'Replies for `--provider replay`'
plan\t'A plan of `tepa plan`'"
complete -c tepa -n "__fish_tepa_using_subcommand validate" -l output -d 'The form of the faults: text on standard error, or data on standard output' -r -f -a "text\t'For people'
json\t'One object with every file'
github\t'Workflow commands, which GitHub Actions shows beside the lines'
sarif\t'SARIF 2.1.0, which code scanners and editors read'"
complete -c tepa -n "__fish_tepa_using_subcommand validate" -l var -d 'A value for `{{NAME}}` in the task, or @FILE for what is in a file, or @@VALUE for one that begins with @ (again for more)' -r
complete -c tepa -n "__fish_tepa_using_subcommand validate" -l log-level -d 'How much to show' -r -f -a "minimal\t'The final line only'
standard\t'Plan, steps, verdict'
verbose\t'With durations, tokens, reasoning, arguments, retries'"
complete -c tepa -n "__fish_tepa_using_subcommand validate" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tepa -n "__fish_tepa_using_subcommand validate" -s C -l directory -d 'Work in this folder' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand validate" -l strict -d 'Take warnings as faults'
complete -c tepa -n "__fish_tepa_using_subcommand validate" -l allow-unknown -d 'Take unknown keys as warnings'
complete -c tepa -n "__fish_tepa_using_subcommand validate" -s q -l quiet -d 'Show nothing but errors'
complete -c tepa -n "__fish_tepa_using_subcommand validate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tepa -n "__fish_tepa_using_subcommand validate" -s V -l version -d 'Print version'
complete -c tepa -n "__fish_tepa_using_subcommand tools; and not __fish_seen_subcommand_from list show call help" -l config -d 'A configuration file, on top of the user\'s and the project\'s' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand tools; and not __fish_seen_subcommand_from list show call help" -l set -d 'Set a value of the configuration, such as `limits.maxCycles=3` or `tools=[file_read]` (again for more)' -r
complete -c tepa -n "__fish_tepa_using_subcommand tools; and not __fish_seen_subcommand_from list show call help" -l output -d 'What standard output carries: text for people, or JSON' -r -f -a "text\t'For people'
json\t'For programs'"
complete -c tepa -n "__fish_tepa_using_subcommand tools; and not __fish_seen_subcommand_from list show call help" -l log-level -d 'How much to show' -r -f -a "minimal\t'The final line only'
standard\t'Plan, steps, verdict'
verbose\t'With durations, tokens, reasoning, arguments, retries'"
complete -c tepa -n "__fish_tepa_using_subcommand tools; and not __fish_seen_subcommand_from list show call help" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tepa -n "__fish_tepa_using_subcommand tools; and not __fish_seen_subcommand_from list show call help" -s C -l directory -d 'Work in this folder' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand tools; and not __fish_seen_subcommand_from list show call help" -l hermetic -d 'Read neither the user\'s configuration nor the project\'s'
complete -c tepa -n "__fish_tepa_using_subcommand tools; and not __fish_seen_subcommand_from list show call help" -s q -l quiet -d 'Show nothing but errors'
complete -c tepa -n "__fish_tepa_using_subcommand tools; and not __fish_seen_subcommand_from list show call help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tepa -n "__fish_tepa_using_subcommand tools; and not __fish_seen_subcommand_from list show call help" -s V -l version -d 'Print version'
complete -c tepa -n "__fish_tepa_using_subcommand tools; and not __fish_seen_subcommand_from list show call help" -f -a "list" -d 'List the tools that a run has here: built-in ones, commands, those of MCP servers'
complete -c tepa -n "__fish_tepa_using_subcommand tools; and not __fish_seen_subcommand_from list show call help" -f -a "show" -d 'Show one tool with its parameters'
complete -c tepa -n "__fish_tepa_using_subcommand tools; and not __fish_seen_subcommand_from list show call help" -f -a "call" -d 'Call one tool in this folder and print what it returns'
complete -c tepa -n "__fish_tepa_using_subcommand tools; and not __fish_seen_subcommand_from list show call help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from list" -l config -d 'A configuration file, on top of the user\'s and the project\'s' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from list" -l set -d 'Set a value of the configuration, such as `limits.maxCycles=3` or `tools=[file_read]` (again for more)' -r
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from list" -l output -d 'What standard output carries: text for people, or JSON' -r -f -a "text\t'For people'
json\t'For programs'"
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from list" -l log-level -d 'How much to show' -r -f -a "minimal\t'The final line only'
standard\t'Plan, steps, verdict'
verbose\t'With durations, tokens, reasoning, arguments, retries'"
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from list" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from list" -s C -l directory -d 'Work in this folder' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from list" -l hermetic -d 'Read neither the user\'s configuration nor the project\'s'
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Show nothing but errors'
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from list" -s V -l version -d 'Print version'
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from show" -l config -d 'A configuration file, on top of the user\'s and the project\'s' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from show" -l set -d 'Set a value of the configuration, such as `limits.maxCycles=3` or `tools=[file_read]` (again for more)' -r
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from show" -l output -d 'What standard output carries: text for people, or JSON' -r -f -a "text\t'For people'
json\t'For programs'"
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from show" -l log-level -d 'How much to show' -r -f -a "minimal\t'The final line only'
standard\t'Plan, steps, verdict'
verbose\t'With durations, tokens, reasoning, arguments, retries'"
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from show" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from show" -s C -l directory -d 'Work in this folder' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from show" -l hermetic -d 'Read neither the user\'s configuration nor the project\'s'
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from show" -s q -l quiet -d 'Show nothing but errors'
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from show" -s V -l version -d 'Print version'
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from call" -l params -d 'Its parameters as one JSON object, or @FILE, or - for standard input' -r
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from call" -l config -d 'A configuration file, on top of the user\'s and the project\'s' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from call" -l set -d 'Set a value of the configuration, such as `limits.maxCycles=3` or `tools=[file_read]` (again for more)' -r
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from call" -l output -d 'What standard output carries: text for people, or JSON' -r -f -a "text\t'For people'
json\t'For programs'"
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from call" -l log-level -d 'How much to show' -r -f -a "minimal\t'The final line only'
standard\t'Plan, steps, verdict'
verbose\t'With durations, tokens, reasoning, arguments, retries'"
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from call" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from call" -s C -l directory -d 'Work in this folder' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from call" -l hermetic -d 'Read neither the user\'s configuration nor the project\'s'
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from call" -s q -l quiet -d 'Show nothing but errors'
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from call" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from call" -s V -l version -d 'Print version'
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the tools that a run has here: built-in ones, commands, those of MCP servers'
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show one tool with its parameters'
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from help" -f -a "call" -d 'Call one tool in this folder and print what it returns'
complete -c tepa -n "__fish_tepa_using_subcommand tools; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tepa -n "__fish_tepa_using_subcommand runs; and not __fish_seen_subcommand_from list report evaluate plan help" -l log-level -d 'How much to show' -r -f -a "minimal\t'The final line only'
standard\t'Plan, steps, verdict'
verbose\t'With durations, tokens, reasoning, arguments, retries'"
complete -c tepa -n "__fish_tepa_using_subcommand runs; and not __fish_seen_subcommand_from list report evaluate plan help" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tepa -n "__fish_tepa_using_subcommand runs; and not __fish_seen_subcommand_from list report evaluate plan help" -s C -l directory -d 'Work in this folder' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand runs; and not __fish_seen_subcommand_from list report evaluate plan help" -s q -l quiet -d 'Show nothing but errors'
complete -c tepa -n "__fish_tepa_using_subcommand runs; and not __fish_seen_subcommand_from list report evaluate plan help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tepa -n "__fish_tepa_using_subcommand runs; and not __fish_seen_subcommand_from list report evaluate plan help" -s V -l version -d 'Print version'
complete -c tepa -n "__fish_tepa_using_subcommand runs; and not __fish_seen_subcommand_from list report evaluate plan help" -f -a "list" -d 'List recorded runs, the newest first'
complete -c tepa -n "__fish_tepa_using_subcommand runs; and not __fish_seen_subcommand_from list report evaluate plan help" -f -a "report" -d 'Write the report of a run, as `tepa run --report` does'
complete -c tepa -n "__fish_tepa_using_subcommand runs; and not __fish_seen_subcommand_from list report evaluate plan help" -f -a "evaluate" -d 'Judge again what a run did, on the files as they are now: checks, evidence, criteria, verdict; executes no step'
complete -c tepa -n "__fish_tepa_using_subcommand runs; and not __fish_seen_subcommand_from list report evaluate plan help" -f -a "plan" -d 'Draw the last plan of a run'
complete -c tepa -n "__fish_tepa_using_subcommand runs; and not __fish_seen_subcommand_from list report evaluate plan help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from list" -l session -d 'Only those of this session' -r
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from list" -l output -d 'The form of the list' -r -f -a "text\t'For people'
json\t'For programs'"
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from list" -l log-level -d 'How much to show' -r -f -a "minimal\t'The final line only'
standard\t'Plan, steps, verdict'
verbose\t'With durations, tokens, reasoning, arguments, retries'"
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from list" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from list" -s C -l directory -d 'Work in this folder' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Show nothing but errors'
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from list" -s V -l version -d 'Print version'
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from report" -l format -d 'The form of the report' -r -f -a "junit\t''
markdown\t''
html\t''"
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from report" -s o -l output -d 'Write to this file instead of standard output' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from report" -l log-level -d 'How much to show' -r -f -a "minimal\t'The final line only'
standard\t'Plan, steps, verdict'
verbose\t'With durations, tokens, reasoning, arguments, retries'"
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from report" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from report" -s C -l directory -d 'Work in this folder' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from report" -s q -l quiet -d 'Show nothing but errors'
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from report" -s V -l version -d 'Print version'
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from evaluate" -l provider -d 'Who answers model calls' -r -f -a "anthropic\t''
openai\t''
gemini\t''
openai-compatible\t''
replay\t''"
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from evaluate" -l base-url -d 'Reach the provider here instead of at its own address' -r
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from evaluate" -l model -d 'The model of every role' -r
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from evaluate" -l evaluator-model -d 'The evaluator\'s model' -r
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from evaluate" -l replay -d 'Replies for `--provider replay` [default: PROMPT.replay.yaml beside the prompt]' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from evaluate" -l config -d 'A configuration file, on top of the user\'s and the project\'s' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from evaluate" -l set -d 'Set a value of the configuration, such as `limits.maxCycles=3` or `tools=[file_read]` (again for more)' -r
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from evaluate" -l sandbox -d 'What commands and file tools may touch' -r -f -a "read-only\t'Nothing is written'
workspace-write\t'The folder that the run works in is written'
off\t'Commands are not confined'"
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from evaluate" -l max-tokens -d 'Tokens over all model calls before the run is terminated' -r
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from evaluate" -l max-cost -d 'US dollars over all model calls before the run is terminated' -r
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from evaluate" -l timeout -d 'Wall clock of the whole run, such as 90s or 1h 30m' -r
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from evaluate" -l record -d 'Write every reply of the provider to this file, for `--replay`' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from evaluate" -l output -d 'What standard output carries: the feedback, one result object, or one event a line' -r -f -a "text\t'The final feedback'
json\t'One result object'
jsonl\t'One event a line'"
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from evaluate" -l result -d 'Write the result to this file as well' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from evaluate" -l report -d 'Write a report to this file, such as junit=report.xml (again for more, or with commas in between)' -r
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from evaluate" -l log-level -d 'How much to show' -r -f -a "minimal\t'The final line only'
standard\t'Plan, steps, verdict'
verbose\t'With durations, tokens, reasoning, arguments, retries'"
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from evaluate" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from evaluate" -s C -l directory -d 'Work in this folder' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from evaluate" -l hermetic -d 'Read neither the user\'s configuration nor the project\'s'
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from evaluate" -l allow-unknown -d 'Take unknown keys in files as warnings'
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from evaluate" -l strict -d 'Fail a task that has nothing to verify: no path, no check, no criterion'
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from evaluate" -l no-journal -d 'Do not record the run under .tepa/runs'
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from evaluate" -s q -l quiet -d 'Show nothing but errors'
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from evaluate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from evaluate" -s V -l version -d 'Print version'
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from plan" -l format -d 'The form of the drawing' -r -f -a "mermaid\t''
dot\t''
svg\t''"
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from plan" -s o -l output -d 'Write to this file instead of standard output' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from plan" -l log-level -d 'How much to show' -r -f -a "minimal\t'The final line only'
standard\t'Plan, steps, verdict'
verbose\t'With durations, tokens, reasoning, arguments, retries'"
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from plan" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from plan" -s C -l directory -d 'Work in this folder' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from plan" -s q -l quiet -d 'Show nothing but errors'
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from plan" -s V -l version -d 'Print version'
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from help" -f -a "list" -d 'List recorded runs, the newest first'
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from help" -f -a "report" -d 'Write the report of a run, as `tepa run --report` does'
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from help" -f -a "evaluate" -d 'Judge again what a run did, on the files as they are now: checks, evidence, criteria, verdict; executes no step'
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from help" -f -a "plan" -d 'Draw the last plan of a run'
complete -c tepa -n "__fish_tepa_using_subcommand runs; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tepa -n "__fish_tepa_using_subcommand memory; and not __fish_seen_subcommand_from list show forget help" -l store -d 'The store, if it is not that of this folder' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand memory; and not __fish_seen_subcommand_from list show forget help" -l log-level -d 'How much to show' -r -f -a "minimal\t'The final line only'
standard\t'Plan, steps, verdict'
verbose\t'With durations, tokens, reasoning, arguments, retries'"
complete -c tepa -n "__fish_tepa_using_subcommand memory; and not __fish_seen_subcommand_from list show forget help" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tepa -n "__fish_tepa_using_subcommand memory; and not __fish_seen_subcommand_from list show forget help" -s C -l directory -d 'Work in this folder' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand memory; and not __fish_seen_subcommand_from list show forget help" -s q -l quiet -d 'Show nothing but errors'
complete -c tepa -n "__fish_tepa_using_subcommand memory; and not __fish_seen_subcommand_from list show forget help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tepa -n "__fish_tepa_using_subcommand memory; and not __fish_seen_subcommand_from list show forget help" -s V -l version -d 'Print version'
complete -c tepa -n "__fish_tepa_using_subcommand memory; and not __fish_seen_subcommand_from list show forget help" -f -a "list" -d 'List memories, the newest first: id, session, importance x confidence, date, first words'
complete -c tepa -n "__fish_tepa_using_subcommand memory; and not __fish_seen_subcommand_from list show forget help" -f -a "show" -d 'Show one memory whole'
complete -c tepa -n "__fish_tepa_using_subcommand memory; and not __fish_seen_subcommand_from list show forget help" -f -a "forget" -d 'Remove memories, or all that runs of a session left, so that the text is not in the file any more'
complete -c tepa -n "__fish_tepa_using_subcommand memory; and not __fish_seen_subcommand_from list show forget help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tepa -n "__fish_tepa_using_subcommand memory; and __fish_seen_subcommand_from list" -l session -d 'Only those of this session' -r
complete -c tepa -n "__fish_tepa_using_subcommand memory; and __fish_seen_subcommand_from list" -l output -d 'What standard output carries: text for people, or JSON' -r -f -a "text\t'For people'
json\t'For programs'"
complete -c tepa -n "__fish_tepa_using_subcommand memory; and __fish_seen_subcommand_from list" -l store -d 'The store, if it is not that of this folder' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand memory; and __fish_seen_subcommand_from list" -l log-level -d 'How much to show' -r -f -a "minimal\t'The final line only'
standard\t'Plan, steps, verdict'
verbose\t'With durations, tokens, reasoning, arguments, retries'"
complete -c tepa -n "__fish_tepa_using_subcommand memory; and __fish_seen_subcommand_from list" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tepa -n "__fish_tepa_using_subcommand memory; and __fish_seen_subcommand_from list" -s C -l directory -d 'Work in this folder' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand memory; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Show nothing but errors'
complete -c tepa -n "__fish_tepa_using_subcommand memory; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tepa -n "__fish_tepa_using_subcommand memory; and __fish_seen_subcommand_from list" -s V -l version -d 'Print version'
complete -c tepa -n "__fish_tepa_using_subcommand memory; and __fish_seen_subcommand_from show" -l store -d 'The store, if it is not that of this folder' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand memory; and __fish_seen_subcommand_from show" -l log-level -d 'How much to show' -r -f -a "minimal\t'The final line only'
standard\t'Plan, steps, verdict'
verbose\t'With durations, tokens, reasoning, arguments, retries'"
complete -c tepa -n "__fish_tepa_using_subcommand memory; and __fish_seen_subcommand_from show" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tepa -n "__fish_tepa_using_subcommand memory; and __fish_seen_subcommand_from show" -s C -l directory -d 'Work in this folder' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand memory; and __fish_seen_subcommand_from show" -s q -l quiet -d 'Show nothing but errors'
complete -c tepa -n "__fish_tepa_using_subcommand memory; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tepa -n "__fish_tepa_using_subcommand memory; and __fish_seen_subcommand_from show" -s V -l version -d 'Print version'
complete -c tepa -n "__fish_tepa_using_subcommand memory; and __fish_seen_subcommand_from forget" -l session -d 'Everything of this session' -r
complete -c tepa -n "__fish_tepa_using_subcommand memory; and __fish_seen_subcommand_from forget" -l store -d 'The store, if it is not that of this folder' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand memory; and __fish_seen_subcommand_from forget" -l log-level -d 'How much to show' -r -f -a "minimal\t'The final line only'
standard\t'Plan, steps, verdict'
verbose\t'With durations, tokens, reasoning, arguments, retries'"
complete -c tepa -n "__fish_tepa_using_subcommand memory; and __fish_seen_subcommand_from forget" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tepa -n "__fish_tepa_using_subcommand memory; and __fish_seen_subcommand_from forget" -s C -l directory -d 'Work in this folder' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand memory; and __fish_seen_subcommand_from forget" -s q -l quiet -d 'Show nothing but errors'
complete -c tepa -n "__fish_tepa_using_subcommand memory; and __fish_seen_subcommand_from forget" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tepa -n "__fish_tepa_using_subcommand memory; and __fish_seen_subcommand_from forget" -s V -l version -d 'Print version'
complete -c tepa -n "__fish_tepa_using_subcommand memory; and __fish_seen_subcommand_from help" -f -a "list" -d 'List memories, the newest first: id, session, importance x confidence, date, first words'
complete -c tepa -n "__fish_tepa_using_subcommand memory; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show one memory whole'
complete -c tepa -n "__fish_tepa_using_subcommand memory; and __fish_seen_subcommand_from help" -f -a "forget" -d 'Remove memories, or all that runs of a session left, so that the text is not in the file any more'
complete -c tepa -n "__fish_tepa_using_subcommand memory; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tepa -n "__fish_tepa_using_subcommand config" -l output -d 'What standard output carries: text for people, or JSON' -r -f -a "text\t'For people'
json\t'For programs'"
complete -c tepa -n "__fish_tepa_using_subcommand config" -l provider -d 'Who answers model calls' -r -f -a "anthropic\t''
openai\t''
gemini\t''
openai-compatible\t''
replay\t''"
complete -c tepa -n "__fish_tepa_using_subcommand config" -l base-url -d 'Reach the provider here instead of at its own address' -r
complete -c tepa -n "__fish_tepa_using_subcommand config" -l model -d 'The model of every role' -r
complete -c tepa -n "__fish_tepa_using_subcommand config" -l evaluator-model -d 'The evaluator\'s model' -r
complete -c tepa -n "__fish_tepa_using_subcommand config" -l replay -d 'Replies for `--provider replay` [default: PROMPT.replay.yaml beside the prompt]' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand config" -l config -d 'A configuration file, on top of the user\'s and the project\'s' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand config" -l set -d 'Set a value of the configuration, such as `limits.maxCycles=3` or `tools=[file_read]` (again for more)' -r
complete -c tepa -n "__fish_tepa_using_subcommand config" -l sandbox -d 'What commands and file tools may touch' -r -f -a "read-only\t'Nothing is written'
workspace-write\t'The folder that the run works in is written'
off\t'Commands are not confined'"
complete -c tepa -n "__fish_tepa_using_subcommand config" -l max-tokens -d 'Tokens over all model calls before the run is terminated' -r
complete -c tepa -n "__fish_tepa_using_subcommand config" -l max-cost -d 'US dollars over all model calls before the run is terminated' -r
complete -c tepa -n "__fish_tepa_using_subcommand config" -l timeout -d 'Wall clock of the whole run, such as 90s or 1h 30m' -r
complete -c tepa -n "__fish_tepa_using_subcommand config" -l planner-model -d 'The planner\'s model' -r
complete -c tepa -n "__fish_tepa_using_subcommand config" -l executor-model -d 'The executor\'s model' -r
complete -c tepa -n "__fish_tepa_using_subcommand config" -l tools -d 'The tools of the run, instead of all: names, or rules such as `shell_execute(git *)`' -r
complete -c tepa -n "__fish_tepa_using_subcommand config" -l deny-tool -d 'Leave a tool out, or deny the calls that match a rule (again for more)' -r
complete -c tepa -n "__fish_tepa_using_subcommand config" -l max-cycles -d 'Cycles before the run fails' -r
complete -c tepa -n "__fish_tepa_using_subcommand config" -l max-tool-calls -d 'Calls of tools before the run is terminated' -r
complete -c tepa -n "__fish_tepa_using_subcommand config" -l tool-timeout -d 'Milliseconds per tool call' -r
complete -c tepa -n "__fish_tepa_using_subcommand config" -l session -d 'Share history and memory with the runs that have the same key' -r
complete -c tepa -n "__fish_tepa_using_subcommand config" -l log-level -d 'How much to show' -r -f -a "minimal\t'The final line only'
standard\t'Plan, steps, verdict'
verbose\t'With durations, tokens, reasoning, arguments, retries'"
complete -c tepa -n "__fish_tepa_using_subcommand config" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tepa -n "__fish_tepa_using_subcommand config" -s C -l directory -d 'Work in this folder' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand config" -l all -d 'Show defaults as well'
complete -c tepa -n "__fish_tepa_using_subcommand config" -l files -d 'Show which files are looked for, and which are there'
complete -c tepa -n "__fish_tepa_using_subcommand config" -l hermetic -d 'Read neither the user\'s configuration nor the project\'s'
complete -c tepa -n "__fish_tepa_using_subcommand config" -l allow-unknown -d 'Take unknown keys in files as warnings'
complete -c tepa -n "__fish_tepa_using_subcommand config" -l strict -d 'Fail a task that has nothing to verify: no path, no check, no criterion'
complete -c tepa -n "__fish_tepa_using_subcommand config" -l no-session -d 'Share neither with any run, whatever the configuration says'
complete -c tepa -n "__fish_tepa_using_subcommand config" -s q -l quiet -d 'Show nothing but errors'
complete -c tepa -n "__fish_tepa_using_subcommand config" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tepa -n "__fish_tepa_using_subcommand config" -s V -l version -d 'Print version'
complete -c tepa -n "__fish_tepa_using_subcommand schema" -l log-level -d 'How much to show' -r -f -a "minimal\t'The final line only'
standard\t'Plan, steps, verdict'
verbose\t'With durations, tokens, reasoning, arguments, retries'"
complete -c tepa -n "__fish_tepa_using_subcommand schema" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tepa -n "__fish_tepa_using_subcommand schema" -s C -l directory -d 'Work in this folder' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand schema" -s q -l quiet -d 'Show nothing but errors'
complete -c tepa -n "__fish_tepa_using_subcommand schema" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tepa -n "__fish_tepa_using_subcommand schema" -s V -l version -d 'Print version'
complete -c tepa -n "__fish_tepa_using_subcommand completions" -l log-level -d 'How much to show' -r -f -a "minimal\t'The final line only'
standard\t'Plan, steps, verdict'
verbose\t'With durations, tokens, reasoning, arguments, retries'"
complete -c tepa -n "__fish_tepa_using_subcommand completions" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c tepa -n "__fish_tepa_using_subcommand completions" -s C -l directory -d 'Work in this folder' -r -F
complete -c tepa -n "__fish_tepa_using_subcommand completions" -s q -l quiet -d 'Show nothing but errors'
complete -c tepa -n "__fish_tepa_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tepa -n "__fish_tepa_using_subcommand completions" -s V -l version -d 'Print version'
complete -c tepa -n "__fish_tepa_using_subcommand help; and not __fish_seen_subcommand_from run plan validate tools runs memory config schema completions help" -f -a "run" -d 'Run a task'
complete -c tepa -n "__fish_tepa_using_subcommand help; and not __fish_seen_subcommand_from run plan validate tools runs memory config schema completions help" -f -a "plan" -d 'Make the plan of a task without executing it, with what it will cost'
complete -c tepa -n "__fish_tepa_using_subcommand help; and not __fish_seen_subcommand_from run plan validate tools runs memory config schema completions help" -f -a "validate" -d 'Check prompt and config files without calling a provider'
complete -c tepa -n "__fish_tepa_using_subcommand help; and not __fish_seen_subcommand_from run plan validate tools runs memory config schema completions help" -f -a "tools" -d 'Show the tools that a run has, and call one by hand'
complete -c tepa -n "__fish_tepa_using_subcommand help; and not __fish_seen_subcommand_from run plan validate tools runs memory config schema completions help" -f -a "runs" -d 'Make something of runs that are recorded under .tepa/runs'
complete -c tepa -n "__fish_tepa_using_subcommand help; and not __fish_seen_subcommand_from run plan validate tools runs memory config schema completions help" -f -a "memory" -d 'Show or remove what runs left for later runs'
complete -c tepa -n "__fish_tepa_using_subcommand help; and not __fish_seen_subcommand_from run plan validate tools runs memory config schema completions help" -f -a "config" -d 'Show the configuration, each value with who said it'
complete -c tepa -n "__fish_tepa_using_subcommand help; and not __fish_seen_subcommand_from run plan validate tools runs memory config schema completions help" -f -a "schema" -d 'Print the JSON Schema of what tepa reads or writes'
complete -c tepa -n "__fish_tepa_using_subcommand help; and not __fish_seen_subcommand_from run plan validate tools runs memory config schema completions help" -f -a "completions" -d 'Print a completion script'
complete -c tepa -n "__fish_tepa_using_subcommand help; and not __fish_seen_subcommand_from run plan validate tools runs memory config schema completions help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tepa -n "__fish_tepa_using_subcommand help; and __fish_seen_subcommand_from tools" -f -a "list" -d 'List the tools that a run has here: built-in ones, commands, those of MCP servers'
complete -c tepa -n "__fish_tepa_using_subcommand help; and __fish_seen_subcommand_from tools" -f -a "show" -d 'Show one tool with its parameters'
complete -c tepa -n "__fish_tepa_using_subcommand help; and __fish_seen_subcommand_from tools" -f -a "call" -d 'Call one tool in this folder and print what it returns'
complete -c tepa -n "__fish_tepa_using_subcommand help; and __fish_seen_subcommand_from runs" -f -a "list" -d 'List recorded runs, the newest first'
complete -c tepa -n "__fish_tepa_using_subcommand help; and __fish_seen_subcommand_from runs" -f -a "report" -d 'Write the report of a run, as `tepa run --report` does'
complete -c tepa -n "__fish_tepa_using_subcommand help; and __fish_seen_subcommand_from runs" -f -a "evaluate" -d 'Judge again what a run did, on the files as they are now: checks, evidence, criteria, verdict; executes no step'
complete -c tepa -n "__fish_tepa_using_subcommand help; and __fish_seen_subcommand_from runs" -f -a "plan" -d 'Draw the last plan of a run'
complete -c tepa -n "__fish_tepa_using_subcommand help; and __fish_seen_subcommand_from memory" -f -a "list" -d 'List memories, the newest first: id, session, importance x confidence, date, first words'
complete -c tepa -n "__fish_tepa_using_subcommand help; and __fish_seen_subcommand_from memory" -f -a "show" -d 'Show one memory whole'
complete -c tepa -n "__fish_tepa_using_subcommand help; and __fish_seen_subcommand_from memory" -f -a "forget" -d 'Remove memories, or all that runs of a session left, so that the text is not in the file any more'
