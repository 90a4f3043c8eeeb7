echo "$(($(wc -l < "$1") - 1)) prices"
