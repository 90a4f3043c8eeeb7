#!/bin/sh
# Writes students.csv, grades.csv and attendance.csv beside this script.
#
# The class is invented. Every run writes the same bytes, whichever awk is installed: the numbers come from a
# generator of our own, because rand() differs between implementations, and no sum leaves the range in which a
# double counts exactly.

set -eu
LC_ALL=C
export LC_ALL
cd "$(dirname "$0")"

# One student a line: name | contact day | usual percentage | change per assessment | absences and late arrivals
# per thousand days.
awk -F'|' '
# From 0 to n - 1, by Park and Miller. The products stay below 2^53.
function draw(n) {
    state = (state * 16807) % 2147483647
    return int(state * n / 2147483647)
}

# Between -12 and 12, mostly near the middle.
function wobble() {
    return draw(9) + draw(9) + draw(9) - 12
}

function calendar(    month, day, week, weekday) {
    split("30 31 30 31", length_of, " ")
    month = 9
    day = 1
    for (week = 1; week <= 14; week++) {
        for (weekday = 1; weekday <= 7; weekday++) {
            # The eighth week is the half-term holiday.
            if (weekday <= 5 && week != 8)
                date[++days] = sprintf("2025-%02d-%02d", month, day)
            if (++day > length_of[month - 8]) {
                day = 1
                month++
            }
        }
    }
}

function assessments(    s, k) {
    subjects = split("Art English Geography History Mathematics Science", subject, " ")
    split("6 3 1 0 -4 -2", ease, " ")
    split("0 6 0 2 -8 1", drift_tenths, " ")
    rounds = split("Quiz 1,Homework 1,Quiz 2,Test 1,Quiz 3,Homework 2,Project,Test 2", title, ",")
    split("20 10 20 50 20 10 40 50", points, " ")
    split("2 3 5 7 8 10 11 13", week_of, " ")
    for (s = 1; s <= subjects; s++)
        for (k = 1; k <= rounds; k++)
            held[(week_of[k] - 1) * 5 + (s + k) % 5 + 1, s] = k
}

function score(who, s, k,    percent, reached) {
    percent = level[who] + drift[who] * (k - 4.5) + ease[s] + bent[who, s] + drift_tenths[s] * (k - 4.5) / 10 + wobble()
    reached = int(points[k] * percent / 100 + 0.5)
    if (reached < 0) reached = 0
    if (reached > points[k]) reached = points[k]
    return reached
}

# A quiz is not repeated for those who were away; homework is forgotten now and then.
function missing(who, d, k) {
    if (title[k] ~ /^Quiz/) return status[who, d] == "absent"
    return title[k] ~ /^Homework/ && draw(1000) < 15 + away[who] / 2
}

BEGIN {
    state = 20250901
    calendar()
    assessments()
}

{
    students++
    id[students] = sprintf("5B-%02d", students)
    name[students] = $1
    contact[students] = $2
    level[students] = $3
    drift[students] = $4
    away[students] = $5
    late[students] = $6
    for (s = 1; s <= subjects; s++) bent[students, s] = draw(17) - 8
}

END {
    # The name comes last and is always quoted, so the columns before it can be cut at commas.
    print "student_id,contact_day,student" > "students.csv"
    for (i = 1; i <= students; i++)
        printf "%s,%s,\"%s\"\n", id[i], contact[i], name[i] > "students.csv"

    print "student_id,date,status" > "attendance.csv"
    for (d = 1; d <= days; d++)
        for (i = 1; i <= students; i++) {
            roll = draw(1000)
            status[i, d] = roll < away[i] ? "absent" : roll < away[i] + late[i] ? "late" : "present"
            printf "%s,%s,%s\n", id[i], date[d], status[i, d] > "attendance.csv"
        }

    print "student_id,subject,assessment,date,score,max_score" > "grades.csv"
    for (d = 1; d <= days; d++)
        for (s = 1; s <= subjects; s++) {
            if (!((d, s) in held)) continue
            k = held[d, s]
            for (i = 1; i <= students; i++) {
                reached = score(i, s, k)
                printf "%s,%s,%s,%s,%s,%d\n", id[i], subject[s], title[k], date[d], \
                    missing(i, d, k) ? "" : reached, points[k] > "grades.csv"
            }
        }
}
' <<'END'
Abara, Chidi|Monday|84|0.2|20|20
Albrecht, Noor|Thursday|91|0|10|10
Bianchi, Luca|Tuesday|76|0.3|30|50
Castellanos, Vera|Friday|88|0.1|15|10
Dlamini, Thandi|Wednesday|80|0.6|25|20
Eriksen, Jonas|Monday|66|0.4|60|40
Farouk, Salma|Tuesday|93|-0.1|10|5
Grabowski, Ola|Thursday|78|0|35|30
Haddad, Karim|Wednesday|57|-0.4|130|70
Ivanova, Daria|Friday|86|0.2|20|15
Jensen, Freja|Monday|82|-3.1|40|35
Kapoor, Rohan|Tuesday|89|0|15|20
Lindqvist, Maja|Wednesday|73|0.8|30|25
Mbeki, Sipho|Thursday|79|0.1|105|40
Moreau, Inès|Friday|85|0.3|20|20
Nakamura, Ren|Monday|95|0|5|5
Novák, Tereza|Tuesday|77|-0.2|35|30
O'Rourke, Finn|Wednesday|64|-2.4|80|95
Okafor, Ada|Thursday|90|0.1|10|15
Pereira, Tomás|Friday|74|0.5|40|30
Quispe, Wayra|Monday|83|-0.1|20|20
Rahimi, Leila|Tuesday|87|0.2|15|10
Schneider, Emil|Wednesday|61|0.9|45|60
Sørensen, Liv|Thursday|81|0|30|20
Tanaka, Yui|Friday|92|-0.2|10|5
Umarov, Timur|Monday|75|0.2|40|45
Vargas, Elena|Tuesday|68|0.1|50|30
Walsh, Peig|Wednesday|86|-0.3|25|20
END
