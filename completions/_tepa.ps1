
using namespace System.Management.Automation
using namespace System.Management.Automation.Language

Register-ArgumentCompleter -Native -CommandName 'tepa' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commandElements = $commandAst.CommandElements
    $command = @(
        'tepa'
        for ($i = 1; $i -lt $commandElements.Count; $i++) {
            $element = $commandElements[$i]
            if ($element -isnot [StringConstantExpressionAst] -or
                $element.StringConstantType -ne [StringConstantType]::BareWord -or
                $element.Value.StartsWith('-') -or
                $element.Value -eq $wordToComplete) {
                break
        }
        $element.Value
    }) -join ';'

    $completions = @(switch ($command) {
        'tepa' {
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to show')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('--directory', '--directory', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('run', 'run', [CompletionResultType]::ParameterValue, 'Run a task')
            [CompletionResult]::new('plan', 'plan', [CompletionResultType]::ParameterValue, 'Make the plan of a task without executing it, with what it will cost')
            [CompletionResult]::new('validate', 'validate', [CompletionResultType]::ParameterValue, 'Check prompt and config files without calling a provider')
            [CompletionResult]::new('tools', 'tools', [CompletionResultType]::ParameterValue, 'Show the tools that a run has, and call one by hand')
            [CompletionResult]::new('runs', 'runs', [CompletionResultType]::ParameterValue, 'Make something of runs that are recorded under .tepa/runs')
            [CompletionResult]::new('memory', 'memory', [CompletionResultType]::ParameterValue, 'Show or remove what runs left for later runs')
            [CompletionResult]::new('config', 'config', [CompletionResultType]::ParameterValue, 'Show the configuration, each value with who said it')
            [CompletionResult]::new('schema', 'schema', [CompletionResultType]::ParameterValue, 'Print the JSON Schema of what tepa reads or writes')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print a completion script')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'tepa;run' {
            [CompletionResult]::new('--provider', '--provider', [CompletionResultType]::ParameterName, 'Who answers model calls')
            [CompletionResult]::new('--base-url', '--base-url', [CompletionResultType]::ParameterName, 'Reach the provider here instead of at its own address')
            [CompletionResult]::new('--model', '--model', [CompletionResultType]::ParameterName, 'The model of every role')
            [CompletionResult]::new('--evaluator-model', '--evaluator-model', [CompletionResultType]::ParameterName, 'The evaluator''s model')
            [CompletionResult]::new('--replay', '--replay', [CompletionResultType]::ParameterName, 'Replies for `--provider replay` [default: PROMPT.replay.yaml beside the prompt]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'A configuration file, on top of the user''s and the project''s')
            [CompletionResult]::new('--set', '--set', [CompletionResultType]::ParameterName, 'Set a value of the configuration, such as `limits.maxCycles=3` or `tools=[file_read]` (again for more)')
            [CompletionResult]::new('--sandbox', '--sandbox', [CompletionResultType]::ParameterName, 'What commands and file tools may touch')
            [CompletionResult]::new('--max-tokens', '--max-tokens', [CompletionResultType]::ParameterName, 'Tokens over all model calls before the run is terminated')
            [CompletionResult]::new('--max-cost', '--max-cost', [CompletionResultType]::ParameterName, 'US dollars over all model calls before the run is terminated')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Wall clock of the whole run, such as 90s or 1h 30m')
            [CompletionResult]::new('--var', '--var', [CompletionResultType]::ParameterName, 'A value for `{{NAME}}` in the task, or @FILE for what is in a file, or @@VALUE for one that begins with @ (again for more)')
            [CompletionResult]::new('--planner-model', '--planner-model', [CompletionResultType]::ParameterName, 'The planner''s model')
            [CompletionResult]::new('--executor-model', '--executor-model', [CompletionResultType]::ParameterName, 'The executor''s model')
            [CompletionResult]::new('--tools', '--tools', [CompletionResultType]::ParameterName, 'The tools of the run, instead of all: names, or rules such as `shell_execute(git *)`')
            [CompletionResult]::new('--deny-tool', '--deny-tool', [CompletionResultType]::ParameterName, 'Leave a tool out, or deny the calls that match a rule (again for more)')
            [CompletionResult]::new('--max-cycles', '--max-cycles', [CompletionResultType]::ParameterName, 'Cycles before the run fails')
            [CompletionResult]::new('--max-tool-calls', '--max-tool-calls', [CompletionResultType]::ParameterName, 'Calls of tools before the run is terminated')
            [CompletionResult]::new('--tool-timeout', '--tool-timeout', [CompletionResultType]::ParameterName, 'Milliseconds per tool call')
            [CompletionResult]::new('--session', '--session', [CompletionResultType]::ParameterName, 'Share history and memory with the runs that have the same key')
            [CompletionResult]::new('--plan', '--plan', [CompletionResultType]::ParameterName, 'Execute this plan, made by `tepa plan`, and no other')
            [CompletionResult]::new('--record', '--record', [CompletionResultType]::ParameterName, 'Write every reply of the provider to this file, for `--replay`')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'What standard output carries: the feedback, one result object, or one event a line')
            [CompletionResult]::new('--result', '--result', [CompletionResultType]::ParameterName, 'Write the result to this file as well')
            [CompletionResult]::new('--report', '--report', [CompletionResultType]::ParameterName, 'Write a report to this file, such as junit=report.xml (again for more, or with commas in between)')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to show')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('--directory', '--directory', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('--hermetic', '--hermetic', [CompletionResultType]::ParameterName, 'Read neither the user''s configuration nor the project''s')
            [CompletionResult]::new('--allow-unknown', '--allow-unknown', [CompletionResultType]::ParameterName, 'Take unknown keys in files as warnings')
            [CompletionResult]::new('--strict', '--strict', [CompletionResultType]::ParameterName, 'Fail a task that has nothing to verify: no path, no check, no criterion')
            [CompletionResult]::new('--no-session', '--no-session', [CompletionResultType]::ParameterName, 'Share neither with any run, whatever the configuration says')
            [CompletionResult]::new('--replan', '--replan', [CompletionResultType]::ParameterName, 'Let the planner go on when the plan of `--plan` did not pass')
            [CompletionResult]::new('--approve', '--approve', [CompletionResultType]::ParameterName, 'Show every plan before it is executed, and ask at the terminal; where there is none, the plan is refused')
            [CompletionResult]::new('--ask-on-fail', '--ask-on-fail', [CompletionResultType]::ParameterName, 'Ask at the terminal what to do about a fail: retry, accept, stop; where there is none, the run stops')
            [CompletionResult]::new('--no-journal', '--no-journal', [CompletionResultType]::ParameterName, 'Do not record the run under .tepa/runs')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'tepa;plan' {
            [CompletionResult]::new('--provider', '--provider', [CompletionResultType]::ParameterName, 'Who answers model calls')
            [CompletionResult]::new('--base-url', '--base-url', [CompletionResultType]::ParameterName, 'Reach the provider here instead of at its own address')
            [CompletionResult]::new('--model', '--model', [CompletionResultType]::ParameterName, 'The model of every role')
            [CompletionResult]::new('--evaluator-model', '--evaluator-model', [CompletionResultType]::ParameterName, 'The evaluator''s model')
            [CompletionResult]::new('--replay', '--replay', [CompletionResultType]::ParameterName, 'Replies for `--provider replay` [default: PROMPT.replay.yaml beside the prompt]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'A configuration file, on top of the user''s and the project''s')
            [CompletionResult]::new('--set', '--set', [CompletionResultType]::ParameterName, 'Set a value of the configuration, such as `limits.maxCycles=3` or `tools=[file_read]` (again for more)')
            [CompletionResult]::new('--sandbox', '--sandbox', [CompletionResultType]::ParameterName, 'What commands and file tools may touch')
            [CompletionResult]::new('--max-tokens', '--max-tokens', [CompletionResultType]::ParameterName, 'Tokens over all model calls before the run is terminated')
            [CompletionResult]::new('--max-cost', '--max-cost', [CompletionResultType]::ParameterName, 'US dollars over all model calls before the run is terminated')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Wall clock of the whole run, such as 90s or 1h 30m')
            [CompletionResult]::new('--var', '--var', [CompletionResultType]::ParameterName, 'A value for `{{NAME}}` in the task, or @FILE for what is in a file, or @@VALUE for one that begins with @ (again for more)')
            [CompletionResult]::new('--planner-model', '--planner-model', [CompletionResultType]::ParameterName, 'The planner''s model')
            [CompletionResult]::new('--executor-model', '--executor-model', [CompletionResultType]::ParameterName, 'The executor''s model')
            [CompletionResult]::new('--tools', '--tools', [CompletionResultType]::ParameterName, 'The tools of the run, instead of all: names, or rules such as `shell_execute(git *)`')
            [CompletionResult]::new('--deny-tool', '--deny-tool', [CompletionResultType]::ParameterName, 'Leave a tool out, or deny the calls that match a rule (again for more)')
            [CompletionResult]::new('--max-cycles', '--max-cycles', [CompletionResultType]::ParameterName, 'Cycles before the run fails')
            [CompletionResult]::new('--max-tool-calls', '--max-tool-calls', [CompletionResultType]::ParameterName, 'Calls of tools before the run is terminated')
            [CompletionResult]::new('--tool-timeout', '--tool-timeout', [CompletionResultType]::ParameterName, 'Milliseconds per tool call')
            [CompletionResult]::new('--session', '--session', [CompletionResultType]::ParameterName, 'Share history and memory with the runs that have the same key')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write to this file instead of standard output')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write to this file instead of standard output')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'The form of the plan; `json` is what `tepa run --plan` takes [default: text, with --output json]')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to show')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('--directory', '--directory', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('--hermetic', '--hermetic', [CompletionResultType]::ParameterName, 'Read neither the user''s configuration nor the project''s')
            [CompletionResult]::new('--allow-unknown', '--allow-unknown', [CompletionResultType]::ParameterName, 'Take unknown keys in files as warnings')
            [CompletionResult]::new('--strict', '--strict', [CompletionResultType]::ParameterName, 'Fail a task that has nothing to verify: no path, no check, no criterion')
            [CompletionResult]::new('--no-session', '--no-session', [CompletionResultType]::ParameterName, 'Share neither with any run, whatever the configuration says')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'tepa;validate' {
            [CompletionResult]::new('--kind', '--kind', [CompletionResultType]::ParameterName, 'Take every file for one of this kind instead of telling by what is in it')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'The form of the faults: text on standard error, or data on standard output')
            [CompletionResult]::new('--var', '--var', [CompletionResultType]::ParameterName, 'A value for `{{NAME}}` in the task, or @FILE for what is in a file, or @@VALUE for one that begins with @ (again for more)')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to show')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('--directory', '--directory', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('--strict', '--strict', [CompletionResultType]::ParameterName, 'Take warnings as faults')
            [CompletionResult]::new('--allow-unknown', '--allow-unknown', [CompletionResultType]::ParameterName, 'Take unknown keys as warnings')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'tepa;tools' {
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'A configuration file, on top of the user''s and the project''s')
            [CompletionResult]::new('--set', '--set', [CompletionResultType]::ParameterName, 'Set a value of the configuration, such as `limits.maxCycles=3` or `tools=[file_read]` (again for more)')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'What standard output carries: text for people, or JSON')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to show')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('--directory', '--directory', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('--hermetic', '--hermetic', [CompletionResultType]::ParameterName, 'Read neither the user''s configuration nor the project''s')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('list', 'list', [CompletionResultType]::ParameterValue, 'List the tools that a run has here: built-in ones, commands, those of MCP servers')
            [CompletionResult]::new('show', 'show', [CompletionResultType]::ParameterValue, 'Show one tool with its parameters')
            [CompletionResult]::new('call', 'call', [CompletionResultType]::ParameterValue, 'Call one tool in this folder and print what it returns')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'tepa;tools;list' {
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'A configuration file, on top of the user''s and the project''s')
            [CompletionResult]::new('--set', '--set', [CompletionResultType]::ParameterName, 'Set a value of the configuration, such as `limits.maxCycles=3` or `tools=[file_read]` (again for more)')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'What standard output carries: text for people, or JSON')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to show')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('--directory', '--directory', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('--hermetic', '--hermetic', [CompletionResultType]::ParameterName, 'Read neither the user''s configuration nor the project''s')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'tepa;tools;show' {
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'A configuration file, on top of the user''s and the project''s')
            [CompletionResult]::new('--set', '--set', [CompletionResultType]::ParameterName, 'Set a value of the configuration, such as `limits.maxCycles=3` or `tools=[file_read]` (again for more)')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'What standard output carries: text for people, or JSON')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to show')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('--directory', '--directory', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('--hermetic', '--hermetic', [CompletionResultType]::ParameterName, 'Read neither the user''s configuration nor the project''s')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'tepa;tools;call' {
            [CompletionResult]::new('--params', '--params', [CompletionResultType]::ParameterName, 'Its parameters as one JSON object, or @FILE, or - for standard input')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'A configuration file, on top of the user''s and the project''s')
            [CompletionResult]::new('--set', '--set', [CompletionResultType]::ParameterName, 'Set a value of the configuration, such as `limits.maxCycles=3` or `tools=[file_read]` (again for more)')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'What standard output carries: text for people, or JSON')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to show')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('--directory', '--directory', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('--hermetic', '--hermetic', [CompletionResultType]::ParameterName, 'Read neither the user''s configuration nor the project''s')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'tepa;tools;help' {
            [CompletionResult]::new('list', 'list', [CompletionResultType]::ParameterValue, 'List the tools that a run has here: built-in ones, commands, those of MCP servers')
            [CompletionResult]::new('show', 'show', [CompletionResultType]::ParameterValue, 'Show one tool with its parameters')
            [CompletionResult]::new('call', 'call', [CompletionResultType]::ParameterValue, 'Call one tool in this folder and print what it returns')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'tepa;tools;help;list' {
            break
        }
        'tepa;tools;help;show' {
            break
        }
        'tepa;tools;help;call' {
            break
        }
        'tepa;tools;help;help' {
            break
        }
        'tepa;runs' {
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to show')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('--directory', '--directory', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('list', 'list', [CompletionResultType]::ParameterValue, 'List recorded runs, the newest first')
            [CompletionResult]::new('report', 'report', [CompletionResultType]::ParameterValue, 'Write the report of a run, as `tepa run --report` does')
            [CompletionResult]::new('evaluate', 'evaluate', [CompletionResultType]::ParameterValue, 'Judge again what a run did, on the files as they are now: checks, evidence, criteria, verdict; executes no step')
            [CompletionResult]::new('plan', 'plan', [CompletionResultType]::ParameterValue, 'Draw the last plan of a run')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'tepa;runs;list' {
            [CompletionResult]::new('--session', '--session', [CompletionResultType]::ParameterName, 'Only those of this session')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'The form of the list')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to show')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('--directory', '--directory', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'tepa;runs;report' {
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'The form of the report')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write to this file instead of standard output')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write to this file instead of standard output')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to show')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('--directory', '--directory', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'tepa;runs;evaluate' {
            [CompletionResult]::new('--provider', '--provider', [CompletionResultType]::ParameterName, 'Who answers model calls')
            [CompletionResult]::new('--base-url', '--base-url', [CompletionResultType]::ParameterName, 'Reach the provider here instead of at its own address')
            [CompletionResult]::new('--model', '--model', [CompletionResultType]::ParameterName, 'The model of every role')
            [CompletionResult]::new('--evaluator-model', '--evaluator-model', [CompletionResultType]::ParameterName, 'The evaluator''s model')
            [CompletionResult]::new('--replay', '--replay', [CompletionResultType]::ParameterName, 'Replies for `--provider replay` [default: PROMPT.replay.yaml beside the prompt]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'A configuration file, on top of the user''s and the project''s')
            [CompletionResult]::new('--set', '--set', [CompletionResultType]::ParameterName, 'Set a value of the configuration, such as `limits.maxCycles=3` or `tools=[file_read]` (again for more)')
            [CompletionResult]::new('--sandbox', '--sandbox', [CompletionResultType]::ParameterName, 'What commands and file tools may touch')
            [CompletionResult]::new('--max-tokens', '--max-tokens', [CompletionResultType]::ParameterName, 'Tokens over all model calls before the run is terminated')
            [CompletionResult]::new('--max-cost', '--max-cost', [CompletionResultType]::ParameterName, 'US dollars over all model calls before the run is terminated')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Wall clock of the whole run, such as 90s or 1h 30m')
            [CompletionResult]::new('--record', '--record', [CompletionResultType]::ParameterName, 'Write every reply of the provider to this file, for `--replay`')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'What standard output carries: the feedback, one result object, or one event a line')
            [CompletionResult]::new('--result', '--result', [CompletionResultType]::ParameterName, 'Write the result to this file as well')
            [CompletionResult]::new('--report', '--report', [CompletionResultType]::ParameterName, 'Write a report to this file, such as junit=report.xml (again for more, or with commas in between)')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to show')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('--directory', '--directory', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('--hermetic', '--hermetic', [CompletionResultType]::ParameterName, 'Read neither the user''s configuration nor the project''s')
            [CompletionResult]::new('--allow-unknown', '--allow-unknown', [CompletionResultType]::ParameterName, 'Take unknown keys in files as warnings')
            [CompletionResult]::new('--strict', '--strict', [CompletionResultType]::ParameterName, 'Fail a task that has nothing to verify: no path, no check, no criterion')
            [CompletionResult]::new('--no-journal', '--no-journal', [CompletionResultType]::ParameterName, 'Do not record the run under .tepa/runs')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'tepa;runs;plan' {
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'The form of the drawing')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write to this file instead of standard output')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write to this file instead of standard output')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to show')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('--directory', '--directory', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'tepa;runs;help' {
            [CompletionResult]::new('list', 'list', [CompletionResultType]::ParameterValue, 'List recorded runs, the newest first')
            [CompletionResult]::new('report', 'report', [CompletionResultType]::ParameterValue, 'Write the report of a run, as `tepa run --report` does')
            [CompletionResult]::new('evaluate', 'evaluate', [CompletionResultType]::ParameterValue, 'Judge again what a run did, on the files as they are now: checks, evidence, criteria, verdict; executes no step')
            [CompletionResult]::new('plan', 'plan', [CompletionResultType]::ParameterValue, 'Draw the last plan of a run')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'tepa;runs;help;list' {
            break
        }
        'tepa;runs;help;report' {
            break
        }
        'tepa;runs;help;evaluate' {
            break
        }
        'tepa;runs;help;plan' {
            break
        }
        'tepa;runs;help;help' {
            break
        }
        'tepa;memory' {
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'The store, if it is not that of this folder')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to show')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('--directory', '--directory', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('list', 'list', [CompletionResultType]::ParameterValue, 'List memories, the newest first: id, session, importance x confidence, date, first words')
            [CompletionResult]::new('show', 'show', [CompletionResultType]::ParameterValue, 'Show one memory whole')
            [CompletionResult]::new('forget', 'forget', [CompletionResultType]::ParameterValue, 'Remove memories, or all that runs of a session left, so that the text is not in the file any more')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'tepa;memory;list' {
            [CompletionResult]::new('--session', '--session', [CompletionResultType]::ParameterName, 'Only those of this session')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'What standard output carries: text for people, or JSON')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'The store, if it is not that of this folder')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to show')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('--directory', '--directory', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'tepa;memory;show' {
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'The store, if it is not that of this folder')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to show')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('--directory', '--directory', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'tepa;memory;forget' {
            [CompletionResult]::new('--session', '--session', [CompletionResultType]::ParameterName, 'Everything of this session')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'The store, if it is not that of this folder')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to show')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('--directory', '--directory', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'tepa;memory;help' {
            [CompletionResult]::new('list', 'list', [CompletionResultType]::ParameterValue, 'List memories, the newest first: id, session, importance x confidence, date, first words')
            [CompletionResult]::new('show', 'show', [CompletionResultType]::ParameterValue, 'Show one memory whole')
            [CompletionResult]::new('forget', 'forget', [CompletionResultType]::ParameterValue, 'Remove memories, or all that runs of a session left, so that the text is not in the file any more')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'tepa;memory;help;list' {
            break
        }
        'tepa;memory;help;show' {
            break
        }
        'tepa;memory;help;forget' {
            break
        }
        'tepa;memory;help;help' {
            break
        }
        'tepa;config' {
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'What standard output carries: text for people, or JSON')
            [CompletionResult]::new('--provider', '--provider', [CompletionResultType]::ParameterName, 'Who answers model calls')
            [CompletionResult]::new('--base-url', '--base-url', [CompletionResultType]::ParameterName, 'Reach the provider here instead of at its own address')
            [CompletionResult]::new('--model', '--model', [CompletionResultType]::ParameterName, 'The model of every role')
            [CompletionResult]::new('--evaluator-model', '--evaluator-model', [CompletionResultType]::ParameterName, 'The evaluator''s model')
            [CompletionResult]::new('--replay', '--replay', [CompletionResultType]::ParameterName, 'Replies for `--provider replay` [default: PROMPT.replay.yaml beside the prompt]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'A configuration file, on top of the user''s and the project''s')
            [CompletionResult]::new('--set', '--set', [CompletionResultType]::ParameterName, 'Set a value of the configuration, such as `limits.maxCycles=3` or `tools=[file_read]` (again for more)')
            [CompletionResult]::new('--sandbox', '--sandbox', [CompletionResultType]::ParameterName, 'What commands and file tools may touch')
            [CompletionResult]::new('--max-tokens', '--max-tokens', [CompletionResultType]::ParameterName, 'Tokens over all model calls before the run is terminated')
            [CompletionResult]::new('--max-cost', '--max-cost', [CompletionResultType]::ParameterName, 'US dollars over all model calls before the run is terminated')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Wall clock of the whole run, such as 90s or 1h 30m')
            [CompletionResult]::new('--planner-model', '--planner-model', [CompletionResultType]::ParameterName, 'The planner''s model')
            [CompletionResult]::new('--executor-model', '--executor-model', [CompletionResultType]::ParameterName, 'The executor''s model')
            [CompletionResult]::new('--tools', '--tools', [CompletionResultType]::ParameterName, 'The tools of the run, instead of all: names, or rules such as `shell_execute(git *)`')
            [CompletionResult]::new('--deny-tool', '--deny-tool', [CompletionResultType]::ParameterName, 'Leave a tool out, or deny the calls that match a rule (again for more)')
            [CompletionResult]::new('--max-cycles', '--max-cycles', [CompletionResultType]::ParameterName, 'Cycles before the run fails')
            [CompletionResult]::new('--max-tool-calls', '--max-tool-calls', [CompletionResultType]::ParameterName, 'Calls of tools before the run is terminated')
            [CompletionResult]::new('--tool-timeout', '--tool-timeout', [CompletionResultType]::ParameterName, 'Milliseconds per tool call')
            [CompletionResult]::new('--session', '--session', [CompletionResultType]::ParameterName, 'Share history and memory with the runs that have the same key')
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to show')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('--directory', '--directory', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('--all', '--all', [CompletionResultType]::ParameterName, 'Show defaults as well')
            [CompletionResult]::new('--files', '--files', [CompletionResultType]::ParameterName, 'Show which files are looked for, and which are there')
            [CompletionResult]::new('--hermetic', '--hermetic', [CompletionResultType]::ParameterName, 'Read neither the user''s configuration nor the project''s')
            [CompletionResult]::new('--allow-unknown', '--allow-unknown', [CompletionResultType]::ParameterName, 'Take unknown keys in files as warnings')
            [CompletionResult]::new('--strict', '--strict', [CompletionResultType]::ParameterName, 'Fail a task that has nothing to verify: no path, no check, no criterion')
            [CompletionResult]::new('--no-session', '--no-session', [CompletionResultType]::ParameterName, 'Share neither with any run, whatever the configuration says')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'tepa;schema' {
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to show')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('--directory', '--directory', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'tepa;completions' {
            [CompletionResult]::new('--log-level', '--log-level', [CompletionResultType]::ParameterName, 'How much to show')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('-C', '-C ', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('--directory', '--directory', [CompletionResultType]::ParameterName, 'Work in this folder')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Show nothing but errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'tepa;help' {
            [CompletionResult]::new('run', 'run', [CompletionResultType]::ParameterValue, 'Run a task')
            [CompletionResult]::new('plan', 'plan', [CompletionResultType]::ParameterValue, 'Make the plan of a task without executing it, with what it will cost')
            [CompletionResult]::new('validate', 'validate', [CompletionResultType]::ParameterValue, 'Check prompt and config files without calling a provider')
            [CompletionResult]::new('tools', 'tools', [CompletionResultType]::ParameterValue, 'Show the tools that a run has, and call one by hand')
            [CompletionResult]::new('runs', 'runs', [CompletionResultType]::ParameterValue, 'Make something of runs that are recorded under .tepa/runs')
            [CompletionResult]::new('memory', 'memory', [CompletionResultType]::ParameterValue, 'Show or remove what runs left for later runs')
            [CompletionResult]::new('config', 'config', [CompletionResultType]::ParameterValue, 'Show the configuration, each value with who said it')
            [CompletionResult]::new('schema', 'schema', [CompletionResultType]::ParameterValue, 'Print the JSON Schema of what tepa reads or writes')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print a completion script')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'tepa;help;run' {
            break
        }
        'tepa;help;plan' {
            break
        }
        'tepa;help;validate' {
            break
        }
        'tepa;help;tools' {
            [CompletionResult]::new('list', 'list', [CompletionResultType]::ParameterValue, 'List the tools that a run has here: built-in ones, commands, those of MCP servers')
            [CompletionResult]::new('show', 'show', [CompletionResultType]::ParameterValue, 'Show one tool with its parameters')
            [CompletionResult]::new('call', 'call', [CompletionResultType]::ParameterValue, 'Call one tool in this folder and print what it returns')
            break
        }
        'tepa;help;tools;list' {
            break
        }
        'tepa;help;tools;show' {
            break
        }
        'tepa;help;tools;call' {
            break
        }
        'tepa;help;runs' {
            [CompletionResult]::new('list', 'list', [CompletionResultType]::ParameterValue, 'List recorded runs, the newest first')
            [CompletionResult]::new('report', 'report', [CompletionResultType]::ParameterValue, 'Write the report of a run, as `tepa run --report` does')
            [CompletionResult]::new('evaluate', 'evaluate', [CompletionResultType]::ParameterValue, 'Judge again what a run did, on the files as they are now: checks, evidence, criteria, verdict; executes no step')
            [CompletionResult]::new('plan', 'plan', [CompletionResultType]::ParameterValue, 'Draw the last plan of a run')
            break
        }
        'tepa;help;runs;list' {
            break
        }
        'tepa;help;runs;report' {
            break
        }
        'tepa;help;runs;evaluate' {
            break
        }
        'tepa;help;runs;plan' {
            break
        }
        'tepa;help;memory' {
            [CompletionResult]::new('list', 'list', [CompletionResultType]::ParameterValue, 'List memories, the newest first: id, session, importance x confidence, date, first words')
            [CompletionResult]::new('show', 'show', [CompletionResultType]::ParameterValue, 'Show one memory whole')
            [CompletionResult]::new('forget', 'forget', [CompletionResultType]::ParameterValue, 'Remove memories, or all that runs of a session left, so that the text is not in the file any more')
            break
        }
        'tepa;help;memory;list' {
            break
        }
        'tepa;help;memory;show' {
            break
        }
        'tepa;help;memory;forget' {
            break
        }
        'tepa;help;config' {
            break
        }
        'tepa;help;schema' {
            break
        }
        'tepa;help;completions' {
            break
        }
        'tepa;help;help' {
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}
