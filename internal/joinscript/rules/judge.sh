# SPDX-License-Identifier: MPL-2.0
#
# The quorum decision. starts.txt holds its cases, and rules.go states it in Go.
#
# shellcheck disable=SC2016 # awk programs stand in single quotes

# What the answers on standard input say of OWN, if TOLD are the peers of the
# environment, in fields with | behind each: a verdict, the peer URLs that they
# name, the URLs that answered, and four that are explained below. A verdict about
# this member needs the same list from a majority of the voters on it other than
# this member: a removed member that still runs, or one that is cut off, repeats
# an old list. Peers of the environment vote. Voters that an answer names vote too
# if a majority of the peers of the environment gives that answer, apart from
# those that it lists as learners: one answer may come from a cluster of its own.
#   ran              listed, and has run
#   join CLUSTER     a learner that has not run, and the cluster works
#   vote CLUSTER     a voter that has not run, on the list of every other voter:
#                    it may have voted before the others heard of its start
#   absent REASON    the cluster works, and this member is not on its list
#   forming LISTED   there is a list, on which nobody has run yet
#   silent REASON    nobody is there
#   wait REASON      none of these
# The other fields are about the member of the data on this machine (DATA_ID), and about a
# start that would remove all others:
#   4  ours if a list has it at a URL of OWN, named if all lists that have it have it at
#      other URLs and under other names, theirs if only at other URLs, or nothing
#   5  the URLs that are asked about it: of servers that list it, unless they are another
#      member, or if no list has it, of the peers of the environment that answered
#   6  where a list has it
#   7  the URLs at which another voter may run, or none
judge() {
	awk "$sorted"'
BEGIN {
	ORS = "|"
	n = split(ENVIRON["TOLD"], a, " ")
	for (i = 1; i <= n; i++) told[a[i]] = 1
	n = split(ENVIRON["OWN"], a, ",")
	for (i = 1; i <= n; i++) own[a[i]] = 1
}
$1 == "M" {
	i = ++count[$2]
	u = sorted($8)
	id[$2, i] = $4; learner[$2, i] = $5; urls[$2, i] = u; raw[$2, i] = $8
	sig[$2] = sig[$2] $4 "/" $5 "/" u ";"
	if ($6) { formed = $2; started[$4] = 1 }
	if (u == ENVIRON["OWN"] && ($2 in told)) listed = 1
	data = $4 == ENVIRON["DATA_ID"]
	if (data) {
		where = $8
		has[$2] = 1
		if ($7 > name) name = $7
	}
	n = split(u, a, ",")
	for (i = 1; i <= n; i++) {
		if (!(a[i] in named)) { named[a[i]] = 1; learn = learn " " a[i] }
		if (data && (a[i] in own)) home = 1
		if (a[i] != $2) continue
		if ($5) learns[$2] = 1
		if (data || !at[$2]) at[$2] = 1 + data
	}
}
$1 == "E" { total[$2] = $4; cluster[$2] = $3 }
$1 == "F" {
	lives = $3
	asked = $2
	sub(/^F [^ ]+ [^ ]+ /, "")
	gsub(/[|]/, "/")
	if (lives) unsure = asked ": " $0
	if (lives && !(asked in own)) voters_at = voters_at " " asked
	silence = silence "; " asked ": " $0
}
END {
	for (p in total) if (count[p] == total[p]) {
		answers++
		ok = ok " " p
		if (!(cluster[p] in seen)) { seen[cluster[p]] = 1; clusters++; ids = ids " " cluster[p] " (" p ")" }
		groups[sig[p]] = groups[sig[p]] " " p
		if (where ? has[p] && at[p] != 1 : (p in told)) about = about " " p
		if (!(p in own) && !learns[p] && ((p in told) || cluster[p] == ENVIRON["DATA_CLUSTER"])) voters_at = voters_at " " p
	}
	for (g in groups) {
		split(substr(groups[g], 2), who_says, " ")
		p = who_says[1]
		voters = 0
		split("", owner)
		split("", learns)
		for (i = 1; i <= count[p]; i++) {
			if (urls[p, i] == ENVIRON["OWN"]) continue
			n = split(urls[p, i], a, ",")
			for (j = 1; j <= n; j++) if (learner[p, i]) learns[a[j]] = 1; else owner[a[j]] = id[p, i]
			voters += !learner[p, i]
		}
		# A member with several URLs counts once.
		split("", once)
		all = ours = of_told = n = 0
		for (i = 1; i in who_says; i++) {
			u = who_says[i]
			if (u in learns) continue
			m = (u in owner) ? owner[u] : u
			if ((u in owner) && !once["all", m]++) all++
			if ((u in told) && !once["told", m]++) { of_told++; if (u in owner) ours++ }
		}
		split("", who_says)
		for (u in told) if (!(u in learns) && !once["n", (u in owner) ? owner[u] : u]++) n++
		if (all > best || !of) { best = all; best_ours = ours; of = voters }
		if (2 * ours > voters || (2 * of_told > n && 2 * all > voters)) { majority++; view = p; missing = voters - all }
	}
	sub(/^; /, "", silence)
	if (!answers) {
		if (unsure != "") print "wait a peer is there but cannot be asked: " unsure
		else print "silent " silence
	} else if (clusters > 1) {
		print "wait the peers belong to different clusters:" ids
	} else if (majority > 1) {
		print "wait the peers disagree on the members of the cluster"
	} else if (formed == "") {
		print "forming " (listed ? 1 : 0)
	} else if (!majority) {
		print "wait only " best_ours + 0 " of its " of + 0 " other voters give the same list of members" (silence == "" ? "" : "; no answer from " silence)
	} else {
		us = 0
		for (i = 1; i <= count[view]; i++) if (urls[view, i] == ENVIRON["OWN"]) us = i
		if (us && started[id[view, us]]) print "ran"
		else if (us && !learner[view, us] && missing) print "wait not listed by all other voters"
		else if (us) {
			# etcd compares the URLs of the others, and not their names.
			for (i = 1; i <= count[view]; i++) {
				label = "member-" id[view, i]
				text = raw[view, i]
				if (i == us) { label = ENVIRON["OWN_NAME"]; text = ENVIRON["OWN_RAW"] }
				n = split(text, a, ",")
				for (j = 1; j <= n; j++) if (a[j] != "") { list = list sep label "=" a[j]; sep = "," }
			}
			print (learner[view, us] ? "join " : "vote ") list
		} else print "absent not added yet: no member of the cluster has the peer URLs " ENVIRON["OWN_RAW"]
	}
	print learn
	print ok
	print (where == "" ? "" : home ? "ours" : name == 1 ? "named" : "theirs")
	print about
	print where
	print (voters_at == "" ? "none" : substr(voters_at, 2))
}'
}
