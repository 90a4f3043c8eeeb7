complete --keep-order --exclusive --command tepa --arguments "(COMPLETE=fish tepa -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
