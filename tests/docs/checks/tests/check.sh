# Every price is a whole number of cents above zero.
awk -F, 'NR > 1 && !($2 ~ /^[0-9]+$/ && $2 > 0) { print "no price: " $0; wrong = 1 } END { if (!wrong) print "ok"; exit wrong }' "$1"
