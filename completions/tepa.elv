
use builtin;
use str;

set edit:completion:arg-completer[tepa] = {|@words|
    fn spaces {|n|
        builtin:repeat $n ' ' | str:join ''
    }
    fn cand {|text desc|
        edit:complex-candidate $text &display=$text' '(spaces (- 14 (wcswidth $text)))$desc
    }
    var command = 'tepa'
    for word $words[1..-1] {
        if (str:has-prefix $word '-') {
            break
        }
        set command = $command';'$word
    }
    var completions = [
        &'tepa'= {
            cand --log-level 'How much to show'
            cand --color 'When to use colour'
            cand -C 'Work in this folder'
            cand --directory 'Work in this folder'
            cand -q 'Show nothing but errors'
            cand --quiet 'Show nothing but errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
            cand run 'Run a task'
            cand plan 'Make the plan of a task without executing it, with what it will cost'
            cand validate 'Check prompt and config files without calling a provider'
            cand tools 'Show the tools that a run has, and call one by hand'
            cand runs 'Make something of runs that are recorded under .tepa/runs'
            cand memory 'Show or remove what runs left for later runs'
            cand config 'Show the configuration, each value with who said it'
            cand schema 'Print the JSON Schema of what tepa reads or writes'
            cand completions 'Print a completion script'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'tepa;run'= {
            cand --provider 'Who answers model calls'
            cand --base-url 'Reach the provider here instead of at its own address'
            cand --model 'The model of every role'
            cand --evaluator-model 'The evaluator''s model'
            cand --replay 'Replies for `--provider replay` [default: PROMPT.replay.yaml beside the prompt]'
            cand --config 'A configuration file, on top of the user''s and the project''s'
            cand --set 'Set a value of the configuration, such as `limits.maxCycles=3` or `tools=[file_read]` (again for more)'
            cand --sandbox 'What commands and file tools may touch'
            cand --max-tokens 'Tokens over all model calls before the run is terminated'
            cand --max-cost 'US dollars over all model calls before the run is terminated'
            cand --timeout 'Wall clock of the whole run, such as 90s or 1h 30m'
            cand --var 'A value for `{{NAME}}` in the task, or @FILE for what is in a file, or @@VALUE for one that begins with @ (again for more)'
            cand --planner-model 'The planner''s model'
            cand --executor-model 'The executor''s model'
            cand --tools 'The tools of the run, instead of all: names, or rules such as `shell_execute(git *)`'
            cand --deny-tool 'Leave a tool out, or deny the calls that match a rule (again for more)'
            cand --max-cycles 'Cycles before the run fails'
            cand --max-tool-calls 'Calls of tools before the run is terminated'
            cand --tool-timeout 'Milliseconds per tool call'
            cand --session 'Share history and memory with the runs that have the same key'
            cand --plan 'Execute this plan, made by `tepa plan`, and no other'
            cand --record 'Write every reply of the provider to this file, for `--replay`'
            cand --output 'What standard output carries: the feedback, one result object, or one event a line'
            cand --result 'Write the result to this file as well'
            cand --report 'Write a report to this file, such as junit=report.xml (again for more, or with commas in between)'
            cand --log-level 'How much to show'
            cand --color 'When to use colour'
            cand -C 'Work in this folder'
            cand --directory 'Work in this folder'
            cand --hermetic 'Read neither the user''s configuration nor the project''s'
            cand --allow-unknown 'Take unknown keys in files as warnings'
            cand --strict 'Fail a task that has nothing to verify: no path, no check, no criterion'
            cand --no-session 'Share neither with any run, whatever the configuration says'
            cand --replan 'Let the planner go on when the plan of `--plan` did not pass'
            cand --approve 'Show every plan before it is executed, and ask at the terminal; where there is none, the plan is refused'
            cand --ask-on-fail 'Ask at the terminal what to do about a fail: retry, accept, stop; where there is none, the run stops'
            cand --no-journal 'Do not record the run under .tepa/runs'
            cand -q 'Show nothing but errors'
            cand --quiet 'Show nothing but errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'tepa;plan'= {
            cand --provider 'Who answers model calls'
            cand --base-url 'Reach the provider here instead of at its own address'
            cand --model 'The model of every role'
            cand --evaluator-model 'The evaluator''s model'
            cand --replay 'Replies for `--provider replay` [default: PROMPT.replay.yaml beside the prompt]'
            cand --config 'A configuration file, on top of the user''s and the project''s'
            cand --set 'Set a value of the configuration, such as `limits.maxCycles=3` or `tools=[file_read]` (again for more)'
            cand --sandbox 'What commands and file tools may touch'
            cand --max-tokens 'Tokens over all model calls before the run is terminated'
            cand --max-cost 'US dollars over all model calls before the run is terminated'
            cand --timeout 'Wall clock of the whole run, such as 90s or 1h 30m'
            cand --var 'A value for `{{NAME}}` in the task, or @FILE for what is in a file, or @@VALUE for one that begins with @ (again for more)'
            cand --planner-model 'The planner''s model'
            cand --executor-model 'The executor''s model'
            cand --tools 'The tools of the run, instead of all: names, or rules such as `shell_execute(git *)`'
            cand --deny-tool 'Leave a tool out, or deny the calls that match a rule (again for more)'
            cand --max-cycles 'Cycles before the run fails'
            cand --max-tool-calls 'Calls of tools before the run is terminated'
            cand --tool-timeout 'Milliseconds per tool call'
            cand --session 'Share history and memory with the runs that have the same key'
            cand -o 'Write to this file instead of standard output'
            cand --output 'Write to this file instead of standard output'
            cand --format 'The form of the plan; `json` is what `tepa run --plan` takes [default: text, with --output json]'
            cand --log-level 'How much to show'
            cand --color 'When to use colour'
            cand -C 'Work in this folder'
            cand --directory 'Work in this folder'
            cand --hermetic 'Read neither the user''s configuration nor the project''s'
            cand --allow-unknown 'Take unknown keys in files as warnings'
            cand --strict 'Fail a task that has nothing to verify: no path, no check, no criterion'
            cand --no-session 'Share neither with any run, whatever the configuration says'
            cand -q 'Show nothing but errors'
            cand --quiet 'Show nothing but errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'tepa;validate'= {
            cand --kind 'Take every file for one of this kind instead of telling by what is in it'
            cand --output 'The form of the faults: text on standard error, or data on standard output'
            cand --var 'A value for `{{NAME}}` in the task, or @FILE for what is in a file, or @@VALUE for one that begins with @ (again for more)'
            cand --log-level 'How much to show'
            cand --color 'When to use colour'
            cand -C 'Work in this folder'
            cand --directory 'Work in this folder'
            cand --strict 'Take warnings as faults'
            cand --allow-unknown 'Take unknown keys as warnings'
            cand -q 'Show nothing but errors'
            cand --quiet 'Show nothing but errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'tepa;tools'= {
            cand --config 'A configuration file, on top of the user''s and the project''s'
            cand --set 'Set a value of the configuration, such as `limits.maxCycles=3` or `tools=[file_read]` (again for more)'
            cand --output 'What standard output carries: text for people, or JSON'
            cand --log-level 'How much to show'
            cand --color 'When to use colour'
            cand -C 'Work in this folder'
            cand --directory 'Work in this folder'
            cand --hermetic 'Read neither the user''s configuration nor the project''s'
            cand -q 'Show nothing but errors'
            cand --quiet 'Show nothing but errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
            cand list 'List the tools that a run has here: built-in ones, commands, those of MCP servers'
            cand show 'Show one tool with its parameters'
            cand call 'Call one tool in this folder and print what it returns'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'tepa;tools;list'= {
            cand --config 'A configuration file, on top of the user''s and the project''s'
            cand --set 'Set a value of the configuration, such as `limits.maxCycles=3` or `tools=[file_read]` (again for more)'
            cand --output 'What standard output carries: text for people, or JSON'
            cand --log-level 'How much to show'
            cand --color 'When to use colour'
            cand -C 'Work in this folder'
            cand --directory 'Work in this folder'
            cand --hermetic 'Read neither the user''s configuration nor the project''s'
            cand -q 'Show nothing but errors'
            cand --quiet 'Show nothing but errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'tepa;tools;show'= {
            cand --config 'A configuration file, on top of the user''s and the project''s'
            cand --set 'Set a value of the configuration, such as `limits.maxCycles=3` or `tools=[file_read]` (again for more)'
            cand --output 'What standard output carries: text for people, or JSON'
            cand --log-level 'How much to show'
            cand --color 'When to use colour'
            cand -C 'Work in this folder'
            cand --directory 'Work in this folder'
            cand --hermetic 'Read neither the user''s configuration nor the project''s'
            cand -q 'Show nothing but errors'
            cand --quiet 'Show nothing but errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'tepa;tools;call'= {
            cand --params 'Its parameters as one JSON object, or @FILE, or - for standard input'
            cand --config 'A configuration file, on top of the user''s and the project''s'
            cand --set 'Set a value of the configuration, such as `limits.maxCycles=3` or `tools=[file_read]` (again for more)'
            cand --output 'What standard output carries: text for people, or JSON'
            cand --log-level 'How much to show'
            cand --color 'When to use colour'
            cand -C 'Work in this folder'
            cand --directory 'Work in this folder'
            cand --hermetic 'Read neither the user''s configuration nor the project''s'
            cand -q 'Show nothing but errors'
            cand --quiet 'Show nothing but errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'tepa;tools;help'= {
            cand list 'List the tools that a run has here: built-in ones, commands, those of MCP servers'
            cand show 'Show one tool with its parameters'
            cand call 'Call one tool in this folder and print what it returns'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'tepa;tools;help;list'= {
        }
        &'tepa;tools;help;show'= {
        }
        &'tepa;tools;help;call'= {
        }
        &'tepa;tools;help;help'= {
        }
        &'tepa;runs'= {
            cand --log-level 'How much to show'
            cand --color 'When to use colour'
            cand -C 'Work in this folder'
            cand --directory 'Work in this folder'
            cand -q 'Show nothing but errors'
            cand --quiet 'Show nothing but errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
            cand list 'List recorded runs, the newest first'
            cand report 'Write the report of a run, as `tepa run --report` does'
            cand evaluate 'Judge again what a run did, on the files as they are now: checks, evidence, criteria, verdict; executes no step'
            cand plan 'Draw the last plan of a run'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'tepa;runs;list'= {
            cand --session 'Only those of this session'
            cand --output 'The form of the list'
            cand --log-level 'How much to show'
            cand --color 'When to use colour'
            cand -C 'Work in this folder'
            cand --directory 'Work in this folder'
            cand -q 'Show nothing but errors'
            cand --quiet 'Show nothing but errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'tepa;runs;report'= {
            cand --format 'The form of the report'
            cand -o 'Write to this file instead of standard output'
            cand --output 'Write to this file instead of standard output'
            cand --log-level 'How much to show'
            cand --color 'When to use colour'
            cand -C 'Work in this folder'
            cand --directory 'Work in this folder'
            cand -q 'Show nothing but errors'
            cand --quiet 'Show nothing but errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'tepa;runs;evaluate'= {
            cand --provider 'Who answers model calls'
            cand --base-url 'Reach the provider here instead of at its own address'
            cand --model 'The model of every role'
            cand --evaluator-model 'The evaluator''s model'
            cand --replay 'Replies for `--provider replay` [default: PROMPT.replay.yaml beside the prompt]'
            cand --config 'A configuration file, on top of the user''s and the project''s'
            cand --set 'Set a value of the configuration, such as `limits.maxCycles=3` or `tools=[file_read]` (again for more)'
            cand --sandbox 'What commands and file tools may touch'
            cand --max-tokens 'Tokens over all model calls before the run is terminated'
            cand --max-cost 'US dollars over all model calls before the run is terminated'
            cand --timeout 'Wall clock of the whole run, such as 90s or 1h 30m'
            cand --record 'Write every reply of the provider to this file, for `--replay`'
            cand --output 'What standard output carries: the feedback, one result object, or one event a line'
            cand --result 'Write the result to this file as well'
            cand --report 'Write a report to this file, such as junit=report.xml (again for more, or with commas in between)'
            cand --log-level 'How much to show'
            cand --color 'When to use colour'
            cand -C 'Work in this folder'
            cand --directory 'Work in this folder'
            cand --hermetic 'Read neither the user''s configuration nor the project''s'
            cand --allow-unknown 'Take unknown keys in files as warnings'
            cand --strict 'Fail a task that has nothing to verify: no path, no check, no criterion'
            cand --no-journal 'Do not record the run under .tepa/runs'
            cand -q 'Show nothing but errors'
            cand --quiet 'Show nothing but errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'tepa;runs;plan'= {
            cand --format 'The form of the drawing'
            cand -o 'Write to this file instead of standard output'
            cand --output 'Write to this file instead of standard output'
            cand --log-level 'How much to show'
            cand --color 'When to use colour'
            cand -C 'Work in this folder'
            cand --directory 'Work in this folder'
            cand -q 'Show nothing but errors'
            cand --quiet 'Show nothing but errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'tepa;runs;help'= {
            cand list 'List recorded runs, the newest first'
            cand report 'Write the report of a run, as `tepa run --report` does'
            cand evaluate 'Judge again what a run did, on the files as they are now: checks, evidence, criteria, verdict; executes no step'
            cand plan 'Draw the last plan of a run'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'tepa;runs;help;list'= {
        }
        &'tepa;runs;help;report'= {
        }
        &'tepa;runs;help;evaluate'= {
        }
        &'tepa;runs;help;plan'= {
        }
        &'tepa;runs;help;help'= {
        }
        &'tepa;memory'= {
            cand --store 'The store, if it is not that of this folder'
            cand --log-level 'How much to show'
            cand --color 'When to use colour'
            cand -C 'Work in this folder'
            cand --directory 'Work in this folder'
            cand -q 'Show nothing but errors'
            cand --quiet 'Show nothing but errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
            cand list 'List memories, the newest first: id, session, importance x confidence, date, first words'
            cand show 'Show one memory whole'
            cand forget 'Remove memories, or all that runs of a session left, so that the text is not in the file any more'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'tepa;memory;list'= {
            cand --session 'Only those of this session'
            cand --output 'What standard output carries: text for people, or JSON'
            cand --store 'The store, if it is not that of this folder'
            cand --log-level 'How much to show'
            cand --color 'When to use colour'
            cand -C 'Work in this folder'
            cand --directory 'Work in this folder'
            cand -q 'Show nothing but errors'
            cand --quiet 'Show nothing but errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'tepa;memory;show'= {
            cand --store 'The store, if it is not that of this folder'
            cand --log-level 'How much to show'
            cand --color 'When to use colour'
            cand -C 'Work in this folder'
            cand --directory 'Work in this folder'
            cand -q 'Show nothing but errors'
            cand --quiet 'Show nothing but errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'tepa;memory;forget'= {
            cand --session 'Everything of this session'
            cand --store 'The store, if it is not that of this folder'
            cand --log-level 'How much to show'
            cand --color 'When to use colour'
            cand -C 'Work in this folder'
            cand --directory 'Work in this folder'
            cand -q 'Show nothing but errors'
            cand --quiet 'Show nothing but errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'tepa;memory;help'= {
            cand list 'List memories, the newest first: id, session, importance x confidence, date, first words'
            cand show 'Show one memory whole'
            cand forget 'Remove memories, or all that runs of a session left, so that the text is not in the file any more'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'tepa;memory;help;list'= {
        }
        &'tepa;memory;help;show'= {
        }
        &'tepa;memory;help;forget'= {
        }
        &'tepa;memory;help;help'= {
        }
        &'tepa;config'= {
            cand --output 'What standard output carries: text for people, or JSON'
            cand --provider 'Who answers model calls'
            cand --base-url 'Reach the provider here instead of at its own address'
            cand --model 'The model of every role'
            cand --evaluator-model 'The evaluator''s model'
            cand --replay 'Replies for `--provider replay` [default: PROMPT.replay.yaml beside the prompt]'
            cand --config 'A configuration file, on top of the user''s and the project''s'
            cand --set 'Set a value of the configuration, such as `limits.maxCycles=3` or `tools=[file_read]` (again for more)'
            cand --sandbox 'What commands and file tools may touch'
            cand --max-tokens 'Tokens over all model calls before the run is terminated'
            cand --max-cost 'US dollars over all model calls before the run is terminated'
            cand --timeout 'Wall clock of the whole run, such as 90s or 1h 30m'
            cand --planner-model 'The planner''s model'
            cand --executor-model 'The executor''s model'
            cand --tools 'The tools of the run, instead of all: names, or rules such as `shell_execute(git *)`'
            cand --deny-tool 'Leave a tool out, or deny the calls that match a rule (again for more)'
            cand --max-cycles 'Cycles before the run fails'
            cand --max-tool-calls 'Calls of tools before the run is terminated'
            cand --tool-timeout 'Milliseconds per tool call'
            cand --session 'Share history and memory with the runs that have the same key'
            cand --log-level 'How much to show'
            cand --color 'When to use colour'
            cand -C 'Work in this folder'
            cand --directory 'Work in this folder'
            cand --all 'Show defaults as well'
            cand --files 'Show which files are looked for, and which are there'
            cand --hermetic 'Read neither the user''s configuration nor the project''s'
            cand --allow-unknown 'Take unknown keys in files as warnings'
            cand --strict 'Fail a task that has nothing to verify: no path, no check, no criterion'
            cand --no-session 'Share neither with any run, whatever the configuration says'
            cand -q 'Show nothing but errors'
            cand --quiet 'Show nothing but errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'tepa;schema'= {
            cand --log-level 'How much to show'
            cand --color 'When to use colour'
            cand -C 'Work in this folder'
            cand --directory 'Work in this folder'
            cand -q 'Show nothing but errors'
            cand --quiet 'Show nothing but errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'tepa;completions'= {
            cand --log-level 'How much to show'
            cand --color 'When to use colour'
            cand -C 'Work in this folder'
            cand --directory 'Work in this folder'
            cand -q 'Show nothing but errors'
            cand --quiet 'Show nothing but errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'tepa;help'= {
            cand run 'Run a task'
            cand plan 'Make the plan of a task without executing it, with what it will cost'
            cand validate 'Check prompt and config files without calling a provider'
            cand tools 'Show the tools that a run has, and call one by hand'
            cand runs 'Make something of runs that are recorded under .tepa/runs'
            cand memory 'Show or remove what runs left for later runs'
            cand config 'Show the configuration, each value with who said it'
            cand schema 'Print the JSON Schema of what tepa reads or writes'
            cand completions 'Print a completion script'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'tepa;help;run'= {
        }
        &'tepa;help;plan'= {
        }
        &'tepa;help;validate'= {
        }
        &'tepa;help;tools'= {
            cand list 'List the tools that a run has here: built-in ones, commands, those of MCP servers'
            cand show 'Show one tool with its parameters'
            cand call 'Call one tool in this folder and print what it returns'
        }
        &'tepa;help;tools;list'= {
        }
        &'tepa;help;tools;show'= {
        }
        &'tepa;help;tools;call'= {
        }
        &'tepa;help;runs'= {
            cand list 'List recorded runs, the newest first'
            cand report 'Write the report of a run, as `tepa run --report` does'
            cand evaluate 'Judge again what a run did, on the files as they are now: checks, evidence, criteria, verdict; executes no step'
            cand plan 'Draw the last plan of a run'
        }
        &'tepa;help;runs;list'= {
        }
        &'tepa;help;runs;report'= {
        }
        &'tepa;help;runs;evaluate'= {
        }
        &'tepa;help;runs;plan'= {
        }
        &'tepa;help;memory'= {
            cand list 'List memories, the newest first: id, session, importance x confidence, date, first words'
            cand show 'Show one memory whole'
            cand forget 'Remove memories, or all that runs of a session left, so that the text is not in the file any more'
        }
        &'tepa;help;memory;list'= {
        }
        &'tepa;help;memory;show'= {
        }
        &'tepa;help;memory;forget'= {
        }
        &'tepa;help;config'= {
        }
        &'tepa;help;schema'= {
        }
        &'tepa;help;completions'= {
        }
        &'tepa;help;help'= {
        }
    ]
    $completions[$command]
}
