#!/bin/sh
# SPDX-License-Identifier: MPL-2.0
#
# etcd-join: says how etcd may start on this machine.
#
#   etcd-join          prints how etcd may start
#   etcd-join start    asks itself, and becomes etcd
#   etcd-join install  downloads the archive at ETCD_JOIN_RELEASE_URL, whose
#                      SHA-256 is ETCD_JOIN_RELEASE_SHA256, to ETCD_JOIN_BIN,
#                      if no etcd runs there. Without a SHA-256, the URL is that
#                      of a release, ".../v3.6.0", with archives and SHA256SUMS
#
# Let systemd run "etcd-join start" as its ExecStart and not as an ExecStartPre:
# it heeds RestartPreventExitStatus=78 for the main process only (systemd#11868).
#
# It reads etcd's own ETCD_* variables, also those of a v3 discovery, which etcd
# 3.4 and 3.5 ignore, and:
#   ETCD_JOIN_PEERS             more peer URLs to ask
#   ETCD_JOIN_DISCOVERY, or     the registry in which the peers of one that joins
#   ETCD_JOIN_DISCOVERY_TOKEN   found each other
#   and _ENDPOINTS
#   ETCD_JOIN_BOOTSTRAP_WINDOW  FROM-UNTIL, in seconds since 1970: when the first
#                               initial member of a static cluster may form it
#   ETCD_JOIN_RESTORE           URL or absolute path of the snapshot with which an
#   and _SHA256                 initial member of a static cluster starts
#   ETCD_JOIN_RESTORE_BUMP      by how much its revision is increased, if it is
#
# Standard output: ETCD_* assignments that override the environment. Standard
# error: the reasons.
#
# Exit 0: start etcd. 75: not yet, run me again. 78: with this environment etcd
# can never start here.
#
# Terraform stores this script without its comments. A configuration without
# discovery has no part from "--- registry" to "--- else" or "--- end", and the
# others none from "--- else" to "--- end". The part "--- restore" is for initial
# members that start with a snapshot alone (see joinscript.go).
#
# shellcheck disable=SC2016 # awk programs stand in single quotes
set -u
LC_ALL=C
export LC_ALL
umask 077

# A string inside quotes, of JSON or of a curl configuration.
quoted() { printf '%s' "$1" | sed 's/[\\"]/\\&/g'; }
# A URL, for the standard input of curl: it may be a secret, and a process list
# shows arguments.
url() { printf 'url = "%s"\n' "$(quoted "$1" | tr -cd '!-~')"; }
# download BLOCKS URL FILE ARGUMENT...: at most that many blocks of 512 bytes. curl
# before 8.4 knows no limit if the server does not tell the size.
download() (
	most=$1 from=$2 to=$3
	shift 3
	trap '' XFSZ
	ulimit -f "$most" 2>/dev/null || :
	url "$from" | curl -q -K - -g -fsSL --connect-timeout 10 --speed-limit 1000 --speed-time 30 --max-filesize "$((most * 512))" -o "$to" "$@"
)

bin=${ETCD_JOIN_BIN:-/usr/local/bin}
case ${1:-} in
start)
	ETCD_JOIN_BIN=$bin "$0" >"${RUNTIME_DIRECTORY:?}/join.env" || exit
	# shellcheck disable=SC2163 # it is an assignment
	while IFS= read -r assignment; do export "$assignment"; done <"$RUNTIME_DIRECTORY/join.env"
	exec "$bin/etcd"
	;;
install)
	# A file may be empty after a power cut, and an empty one "runs": hence the
	# version, and sync before the names.
	case $("$bin/etcd" --version 2>/dev/null) in etcd*) exit 0 ;; esac
	set -e
	rm -rf "$bin"/.etcd-*
	work=$(mktemp -d "$bin/.etcd-XXXXXX")
	trap 'rm -rf "$work"' EXIT
	from=$ETCD_JOIN_RELEASE_URL sum=${ETCD_JOIN_RELEASE_SHA256:-}
	if [ -z "$sum" ]; then
		file=etcd-${from##*/}-linux-$(uname -m | sed 's/x86_/amd/;s/aarch/arm/').tar.gz
		sum=$(download 99 "$from/SHA256SUMS" - --proto =https --max-time 900 | sed -n "s/  $file$//p")
		from=$from/$file
	fi
	download 2097152 "$from" "$work/archive" --proto =https --max-time 900
	printf '%s  %s\n' "$sum" "$work/archive" | sha256sum -c - >/dev/null
	tar -xzof "$work/archive" -C "$work" --strip-components=1
	chmod 755 "$work"/etcd*
	"$work/etcd" --version >/dev/null
	sync
	for program in etcdctl etcdutl etcd; do
		[ ! -e "$work/$program" ] || mv -f "$work/$program" "$bin/"
	done
	exit
	;;
'') ;;
*) exit 78 ;;
esac

said=
# A file of the log, if there is one.
kept=
say() {
	[ "$1" = "$said" ] || printf 'etcd-join: %s\n' "$(printf '%s' "$1" | tr -cd ' -~')" >&2
	said=$1
}
later() {
	# In doubt, a member that has its data starts.
	[ -z "$kept" ] || exit 0
	say "$1"
	exit 75
}
never() {
	[ -z "$kept" ] || exit 0
	say "$1"
	exit 78
}

# The environment is what etcd itself will obey, so it comes first.
name=${ETCD_NAME:-}

# etcd takes up an existing identity when, and only when, there is a WAL; the
# rest of the directory is made by starts that failed, too.
readable() {
	if [ ! -r "$1" ] || [ ! -x "$1" ]; then
		later "cannot read $1: run this as the user of etcd"
	fi
}
data=${ETCD_DATA_DIR:-${name:-default}.etcd}
wal=${ETCD_WAL_DIR:-$data/member/wal}
# Marks of a start: see started_here.
window=${ETCD_JOIN_BOOTSTRAP_WINDOW:-}
mark=etcd-join-${ETCD_INITIAL_CLUSTER_TOKEN:-}-$window
if [ -d "$wal" ]; then
	readable "$wal"
	for file in "$wal"/*.wal; do
		[ ! -e "$file" ] || kept=$file
	done
elif [ -d "$data" ]; then
	readable "$data"
	[ ! -d "$data/member" ] || readable "$data/member"
fi
# --- restore
made=$data/member/restore.tmp
log=$wal/restore.tmp
# Removes what a restore has left, the directory that tells of it last. Without
# a log none of it is data, if the mark tells that the log would be here: the
# disk of the log may not be mounted.
tidy() {
	if [ -n "$kept" ]; then
		rm -rf "${wal:?}/$mark"
	elif [ -d "$wal/$mark" ]; then
		rm -rf "$data/member/snap"
	else
		return
	fi
	rm -rf "$log"
	rm -rf "$made"
}
[ ! -d "$made" ] || tidy
[ ! -d "$made" ] || later "$made tells of a restore, and $wal is not the directory of its log: mount its disk"
# --- end
# URLs may contain [ ].
set -f

# Standard input, split at commas and white space: the URLs that can be asked,
# one a line, each once, in the form in which they are compared.
urls() {
	awk '{
		n = split(tolower($0), a, /[, \t]+/)
		for (i = 1; i <= n; i++) {
			sub(/\/+$/, "", a[i])
			if (a[i] ~ /^https?:\/\/[][a-z0-9._:%-]+$/ && !seen[a[i]]++) print a[i]
		}
	}'
}

command -v curl >/dev/null || later "curl is not on PATH"
case $name in
'') later "ETCD_NAME is not set" ;;
*[!A-Za-z0-9._:@%+~-]*) never "ETCD_NAME has characters that ETCD_INITIAL_CLUSTER cannot hold" ;;
esac
OWN_NAME=$name
OWN_RAW=$(printf '%s\n' "${ETCD_INITIAL_ADVERTISE_PEER_URLS:-}" | tr -d ' \t')
OWN=$(printf '%s\n' "${ETCD_INITIAL_ADVERTISE_PEER_URLS:-}" | urls | sort | tr '\n' ',')
OWN=${OWN%,}
export OWN_NAME OWN_RAW OWN
[ -n "$OWN" ] || later "ETCD_INITIAL_ADVERTISE_PEER_URLS is not set"

# The URLs in the arguments that are not ours, on one line.
others() {
	printf '%s\n' "$@" | urls | awk '
		BEGIN { n = split(ENVIRON["OWN"], a, ","); for (i = 1; i <= n; i++) own[a[i]] = 1 }
		!($0 in own) && NR <= 100 { printf "%s%s", sep, $0; sep = " " }'
}
initial_urls=$(printf '%s\n' "${ETCD_INITIAL_CLUSTER:-}" | tr ',' '\n' | sed 's/^[^=]*=//')
peers=$(others "${ETCD_JOIN_PEERS:-}" "$initial_urls")
# The peers of the environment. Answers name more, which are asked too.
TOLD=$peers
export TOLD

# How an initial member was told to find the others. One whose environment
# already says "existing" holds what an earlier run printed: it was added.
bootstrap=none
founder=0
registry=
[ -n "$kept" ] || [ "${ETCD_INITIAL_CLUSTER_STATE:-new}" != new ] || founder=1
# --- registry
id=
if [ "$founder" = 1 ]; then
	if [ -n "${ETCD_DISCOVERY_TOKEN:-}" ] && [ -n "${ETCD_DISCOVERY_ENDPOINTS:-}" ]; then
		bootstrap=v3
		# The others start with what it registers: one bad URL would stop them all.
		awk 'BEGIN { exit "," ENVIRON["OWN_RAW"] !~ /^(,https?:\/\/([A-Za-z0-9._-]+|\[[0-9A-Za-z:.%]+\]):[0-9]+)+$/ }' ||
			never "ETCD_INITIAL_ADVERTISE_PEER_URLS is not a list of URLs with a port: $OWN_RAW"
		# The ID that etcd computes, and registers under.
		id=$(printf '%s' "$(printf '%s' "$OWN" | tr -d ,)$ETCD_DISCOVERY_TOKEN" | sha1sum 2>/dev/null)
		id=$(printf '%.16s\n' "$id" | sed 's/^0*//')
		[ -n "$id" ] || later "sha1sum is not on PATH"
		mark=etcd-join-$id
	elif [ -n "${ETCD_DISCOVERY:-}" ]; then
		bootstrap=v2
	fi
elif [ -n "$kept" ]; then
	:
elif [ -n "${ETCD_JOIN_DISCOVERY_TOKEN:-}" ] && [ -n "${ETCD_JOIN_DISCOVERY_ENDPOINTS:-}" ]; then
	bootstrap=v3 ETCD_DISCOVERY_TOKEN=$ETCD_JOIN_DISCOVERY_TOKEN ETCD_DISCOVERY_ENDPOINTS=$ETCD_JOIN_DISCOVERY_ENDPOINTS
elif [ -n "${ETCD_JOIN_DISCOVERY:-}" ]; then
	bootstrap=v2 ETCD_DISCOVERY=$ETCD_JOIN_DISCOVERY
fi
# --- else
[ "$founder" = 0 ] || [ -z "${ETCD_DISCOVERY:-}${ETCD_DISCOVERY_TOKEN:-}" ] || never "this join script is for a static bootstrap, and the environment has ETCD_DISCOVERY variables"
# --- end
if [ "$founder/$bootstrap" = 1/none ]; then
	bootstrap=static
	[ -n "${ETCD_INITIAL_CLUSTER:-}" ] || later "an initial member needs ETCD_INITIAL_CLUSTER, ETCD_DISCOVERY or ETCD_DISCOVERY_TOKEN and ETCD_DISCOVERY_ENDPOINTS"
fi

# awk: a list of URLs in the form in which lists are compared.
sorted='
function sorted(list,   a, n, i, j, t) {
	n = split(tolower(list), a, ",")
	for (i = 1; i <= n; i++) sub(/\/+$/, "", a[i])
	for (i = 2; i <= n; i++) for (j = i; j > 1 && a[j] < a[j - 1]; j--) { t = a[j]; a[j] = a[j - 1]; a[j - 1] = t }
	t = a[1]
	for (i = 2; i <= n; i++) t = t "," a[i]
	return t
}
'

# awk: the head of an HTTP answer and a JSON body; values in V by path, such
# as V[".1.peerURLs.2"].
json='
function ch() { return substr(text, pos, 1) }
function ws() { while (ch() == " " || ch() == "\t") pos++ }
function str(   v, c) {
	v = ""
	for (pos++; (c = ch()) != "\""; pos++) {
		if (c == "") { bad = 1; return "" }
		if (c == "\\") {
			pos++
			c = ch()
			if (c == "u") { pos += 4; c = "?" } else if (c ~ /[bfnrt]/) c = "?"
		}
		v = v c
	}
	pos++
	return v
}
function val(path,   c, n, key) {
	ws()
	c = ch()
	if (c == "{" || c == "[") {
		# No answer is that deep.
		if (gsub(/[.]/, ".", path) > 8) { bad = 1; return }
		n = 0
		pos++
		ws()
		if (ch() == (c == "{" ? "}" : "]")) { pos++; return }
		do {
			key = ++n
			ws()
			if (c == "{") {
				if (ch() != "\"") { bad = 1; return }
				key = str()
				ws()
				if (ch() != ":") { bad = 1; return }
				pos++
			}
			val(path "." key)
			ws()
			key = ch()
			pos++
		} while (key == "," && !bad)
		if (key != (c == "{" ? "}" : "]")) bad = 1
	} else if (c == "\"") {
		V[path] = str()
	} else if (match(substr(text, pos, 40), /^[-+.0-9A-Za-z]+/)) {
		V[path] = substr(text, pos, RLENGTH)
		pos += RLENGTH
	} else bad = 1
}
function parse() { pos = 1; bad = 0; val(""); ws(); if (ch() != "") bad = 1; return !bad }
function plain(u) { return u ~ /^https?:\/\/[][A-Za-z0-9._:%\/-]+$/ }
BEGIN { head = 1 }
{ sub(/\r$/, "") }
/^connected [0-9.]+$/ { next }
!head && text == "" && /^HTTP\// { head = 1 }
head && /^HTTP\// { code = $2; next }
head && /^$/ { head = 0; next }
head { if (tolower($1) == "x-etcd-cluster-id:") cluster = $2; next }
# Nobody has as many members as that; what is cut off cannot be parsed.
length(text) < 65536 { text = text substr($0, 1, 65536) " " }
'

# One answer, as lines that others can be mixed with:
#   M asked cluster id learner started urls    a member
#   E asked cluster members                    the end of the list
#   F asked lives reason                       no usable answer
members='
END {
	asked = ENVIRON["ASKED"]
	if (code != 200 || cluster !~ /^[0-9a-f]+$/ || !parse()) {
		print "F " asked " 1 no answer of an etcd peer (HTTP status " code ")"
		exit
	}
	for (n = 0; (("." (n + 1) ".id") in V) && n < 100; n++) {
		p = "." (n + 1)
		list = ""
		for (i = 1; ((p ".peerURLs." i) in V); i++) {
			u = V[p ".peerURLs." i]
			if (!plain(u)) { print "F " asked " 1 its members cannot be read"; exit }
			list = list (i > 1 ? "," : "") u
		}
		if (V[p ".id"] !~ /^[0-9]+$/ || list == "") { print "F " asked " 1 its members cannot be read"; exit }
		out[n] = "M " asked " " cluster " " V[p ".id"] " " (V[p ".isLearner"] == "true") " " (V[p ".clientURLs.1"] != "") " " list
	}
	if (n == 0) print "F " asked " 1 it lists no members"
	for (i = 0; i < n; i++) print out[i]
	if (n) print "E " asked " " cluster " " n
}'

# The answer with its head, or what curl says is wrong, and how long it took to
# connect. On HTTP/2 a peer port over TLS serves gRPC only.
patience=2
fetch() {
	curl -q -sS -g -i --http1.1 --connect-timeout 1 --max-time "$patience" --max-filesize 1000000 -w '\nconnected %{time_connect}\n' "$@" 2>&1
}
# What curl says, without the figures that differ each time.
problem() {
	printf '%s\n' "$answer" | sed -n '/curl: ([0-9]*) / { s/.*curl: ([0-9]*) //; s/ after [0-9]* m[a-z]*//; p; q; }'
}

fetch_peer() {
	cert=${ETCD_PEER_CLIENT_CERT_FILE:-${ETCD_PEER_CERT_FILE:-}}
	[ -z "${ETCD_PEER_TRUSTED_CA_FILE:-}" ] || set -- --cacert "$ETCD_PEER_TRUSTED_CA_FILE" "$@"
	[ -z "$cert" ] || set -- --cert "$cert" --key "${ETCD_PEER_CLIENT_KEY_FILE:-${ETCD_PEER_KEY_FILE:-}}" "$@"
	[ "${ETCD_PEER_AUTO_TLS:-}" != true ] || set -- -k "$@"
	fetch "$@"
}

ask() {
	ASKED=$1
	export ASKED
	answer=$(fetch_peer "$1/members")
	code=$?
	# Nobody is there if the name has no address, if no connection comes about, or
	# if it is closed at once, as proxies do for a host that is down. Who accepts
	# one and hangs lives, and so does who answers anything.
	case $code/$answer in
	0/*) answer=$(printf '%s\n' "$answer" | awk "$json$members") || answer="F $1 1 no answer can be read" ;;
	[567]/* | 52/* | 56/*reset* | 28/*'connected 0.000000'*) answer="F $1 0 $(problem)" ;;
	*) answer="F $1 1 $(problem)" ;;
	esac
	# Line by line: a line is short enough for one write to the shared pipe.
	printf '%s\n' "$answer" | while IFS= read -r line; do
		printf '%s\n' "$line"
	done
}

# What the answers say, on four lines: a verdict, the peer URLs that they name,
# the URLs that answered. A verdict about this member needs the same list from
# a majority of the voters on it other than this member: a removed member that
# still runs, or one that is cut off, repeats an old list. Peers of the
# environment vote. Voters that an answer names vote too if a majority of the
# peers of the environment gives that answer, apart from those that it lists
# as learners: one answer may come from a cluster of its own.
#   ran              listed, and has run
#   join CLUSTER     a learner that has not run, and the cluster works
#   vote CLUSTER     a voter that has not run, on the list of every other voter:
#                    it may have voted before the others heard of its start
#   absent REASON    the cluster works, and this member is not on its list
#   forming LISTED   there is a list, on which nobody has run yet
#   silent REASON    nobody is there
#   wait REASON      none of these
# The fourth line is 1 if a list has the ID of the data on this machine.
judge='
BEGIN { n = split(ENVIRON["TOLD"], a, " "); for (i = 1; i <= n; i++) told[a[i]] = 1 }
$1 == "M" {
	i = ++count[$2]
	u = sorted($7)
	id[$2, i] = $4; learner[$2, i] = $5; urls[$2, i] = u; raw[$2, i] = $7
	sig[$2] = sig[$2] $4 "/" $5 "/" u ";"
	if ($6) { formed = $2; started[$4] = 1 }
	if (u == ENVIRON["OWN"] && ($2 in told)) listed = 1
	if ($4 == ENVIRON["DATA_ID"]) known = 1
	n = split(u, a, ",")
	for (i = 1; i <= n; i++) if (!(a[i] in named)) { named[a[i]] = 1; learn = learn " " a[i] }
}
$1 == "E" { total[$2] = $4; cluster[$2] = $3 }
$1 == "F" {
	lives = $3
	asked = $2
	sub(/^F [^ ]+ [^ ]+ /, "")
	if (lives) unsure = asked ": " $0
	silence = silence "; " asked ": " $0
}
END {
	for (p in total) if (count[p] == total[p]) {
		answers++
		ok = ok " " p
		if (!(cluster[p] in seen)) { seen[cluster[p]] = 1; clusters++; ids = ids " " cluster[p] " (" p ")" }
		groups[sig[p]] = groups[sig[p]] " " p
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
	print known
}'

line() { printf '%s\n' "$answer" | sed -n "$1p"; }

# Asks the targets, all at once.
listen() {
	answer=$(
		for peer in $targets; do
			ask "$peer" &
		done | sort | awk "$sorted$judge"
	)
	verdict=$(line 1)
	more=$(others "$peers" "$(line 2)")
	heard=$(line 3)
	known=$(line 4)
}

# --- registry
# The registry of a founder. Sets registry to
#   silent       it does not answer
#   unknown      it does not know the token
#   open         fewer members than its size have registered
#   full         they have, so the cluster may have formed; first is their
#                initial cluster
# and registered to 1 if this member is among the first, and why to a sentence.
why=
first=
registered=0
size=0

# One answer of a registry, as: state, registered, size, initial cluster. MODE
# is v3 (one range over the token), or v2 (the directory; the size is in SIZE).
registrations='
function unbase64(s,   i, c, bits, n, unit, v) {
	v = ""
	n = bits = 0
	for (i = 1; i <= length(s); i++) {
		c = index("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", substr(s, i, 1))
		if (!c) break
		bits = bits * 64 + c - 1
		n += 6
		if (n >= 8) {
			# Not 2 ^ n: busybox may come without its mathematics.
			n -= 8
			unit = n == 4 ? 16 : n == 2 ? 4 : 1
			c = int(bits / unit)
			bits -= c * unit
			v = v sprintf("%c", c)
		}
	}
	return v
}
function give_up(state, reason) { print state; print 0; print 0; print reason; done = 1; exit }
END {
	if (done) exit
	v3 = ENVIRON["MODE"] == "v3"
	if (!parse() || code != 200) {
		reason = V[".error"] V[".message"]
		if (text ~ /^CommonName /) reason = "its HTTP gateway refuses a client certificate with a common name. Install etcdctl"
		if (reason !~ /^[A-Za-z0-9 ,:._-]+$/) reason = "no answer of a discovery cluster"
		# 400 and 404: a v2 registry or service that does not know the token.
		give_up(!v3 && (code == 400 || code == 404) ? "unknown" : "silent", (code ? "HTTP status " code ", " : "") reason)
	}
	size = ENVIRON["SIZE"]
	for (i = 1; ; i++) {
		if (v3) {
			if (!((".kvs." i ".key") in V)) break
			key = unbase64(V[".kvs." i ".key"])
			value = unbase64(V[".kvs." i ".value"])
			order = V[".kvs." i ".create_revision"]
			if (key ~ /\/_config\/size$/) { size = value; continue }
			if (key !~ /\/members\/[^\/]+$/) continue
		} else {
			if (!((".node.nodes." i ".key") in V)) break
			value = V[".node.nodes." i ".value"]
			order = V[".node.nodes." i ".createdIndex"]
		}
		n++
		for (j = n; j > 1 && at[j - 1] > order + 0; j--) { at[j] = at[j - 1]; entry[j] = entry[j - 1] }
		at[j] = order + 0
		entry[j] = value
	}
	if (size !~ /^[0-9]+$/ || size + 0 < 1) give_up("unknown", "the discovery cluster does not have it, or no size for it")
	for (i = 1; i <= n && i <= size + 0; i++) {
		k = split(entry[i], a, ",")
		mine = ""
		for (j = 1; j <= k; j++) {
			eq = index(a[j], "=")
			label = substr(a[j], 1, eq - 1)
			u = substr(a[j], eq + 1)
			if (!plain(u)) give_up("unknown", "a registration cannot be read")
			if (label !~ /^[A-Za-z0-9._:@%+~-]+$/) label = "member-" i
			if ((label in owner) && owner[label] != i) give_up("unknown", "two initial members have the name " label)
			owner[label] = i
			mine = mine (j > 1 ? "," : "") u
			list = list sep label "=" u
			sep = ","
		}
		if (sorted(mine) == ENVIRON["OWN"]) registered = 1
	}
	print (n + 0 >= size + 0 ? "full" : "open")
	print registered + 0
	print size + 0
	print list
}'

# post PATH JSON: asks the HTTP gateway. What may be secret reaches curl by its
# standard input, and never stands in a process list.
post() {
	set -- "$2" -K - "$at/v3/$1"
	[ -z "${ETCD_DISCOVERY_CACERT:-}" ] || set -- "$@" --cacert "$ETCD_DISCOVERY_CACERT"
	[ -z "${ETCD_DISCOVERY_CERT:-}" ] || set -- "$@" --cert "$ETCD_DISCOVERY_CERT" --key "${ETCD_DISCOVERY_KEY:-}"
	[ "${ETCD_DISCOVERY_INSECURE_SKIP_TLS_VERIFY:-}" != true ] || set -- "$@" -k
	json_body=$(quoted "$1")
	shift
	printf 'data = "%s"\n%s\n' "$json_body" "$header" | fetch "$@"
}

# Asks over gRPC, with the arguments and $input, and answers as the gateway does.
over_grpc() {
	printf '%s\n\n\n' "$input" | ETCDCTL_API=3 ETCDCTL_ENDPOINTS=$at ETCDCTL_USER=$user ETCDCTL_PASSWORD=$password \
		ETCDCTL_CACERT=${ETCD_DISCOVERY_CACERT:-} ETCDCTL_CERT=${ETCD_DISCOVERY_CERT:-} ETCDCTL_KEY=${ETCD_DISCOVERY_KEY:-} \
		ETCDCTL_INSECURE_SKIP_TLS_VERIFY=${ETCD_DISCOVERY_INSECURE_SKIP_TLS_VERIFY:-} \
		"$etcdctl" -w json "$@" 2>&1 | awk '
		/^[{]"header"/ { print "HTTP/1.1 200\n\n" $0; exit }
		sub(/^Error: /, "") { gsub(/[^A-Za-z0-9 ,:._-]/, ""); print "HTTP/1.1\n\n{\"error\":\"etcdctl: " $0 "\"}"; exit }'
}

read_v3() { MODE=v3 SIZE='' awk "$sorted$json$registrations"; }

base64_of() { printf '%s' "$1" | base64 | tr -d '\n'; }

# at_v3 PATH JSON ARGUMENT...: asks one endpoint after the other: its gateway, and
# if that refuses, etcdctl with the arguments.
at_v3() {
	path=$1 body=$2
	shift 2
	user=${ETCD_DISCOVERY_USER:-}
	password=${ETCD_DISCOVERY_PASSWORD:-}
	if [ -z "$password" ]; then
		case $user in *:*) password=${user#*:} user=${user%%:*} ;; esac
	fi
	etcdctl=$bin/etcdctl
	[ -x "$etcdctl" ] || etcdctl=$(command -v etcdctl)
	for at in $(printf '%s\n' "$ETCD_DISCOVERY_ENDPOINTS" | tr ',' ' '); do
		case $at in
		http://* | https://*) ;;
		*) if [ -n "${ETCD_DISCOVERY_CACERT:-}${ETCD_DISCOVERY_CERT:-}" ]; then at=https://$at; else at=http://$at; fi ;;
		esac
		at=${at%/}
		header=
		failed=1
		if [ -n "$user" ]; then
			answer=$(post auth/authenticate "{\"name\":\"$(quoted "$user")\",\"password\":\"$(quoted "$password")\"}") || continue
			token=$(printf '%s\n' "$answer" | awk "$json"'END { if (parse() && code == 200 && V[".token"] ~ /^[A-Za-z0-9._=-]+$/) print V[".token"] }')
			# A registry without authentication refuses to authenticate.
			[ -z "$token" ] || header="header = \"Authorization: $token\""
		fi
		answer=$(post "$path" "$body") || continue
		answer=$(printf '%s\n' "$answer" | read_v3)
		failed=0
		case $answer in silent*) ;; *) break ;; esac
		if [ -n "$etcdctl" ]; then
			refused=$answer
			answer=$(over_grpc "$@" | read_v3)
			case $answer in silent*) answer="$refused; $(line 4)" ;; *) break ;; esac
		fi
	done
	return "$failed"
}

ask_v3() {
	input=
	under=/_etcd/registry/$ETCD_DISCOVERY_TOKEN
	# The prefix and its end: "/" + 1 is "0".
	at_v3 kv/range "{\"key\":\"$(base64_of "$under/")\",\"range_end\":\"$(base64_of "${under}0")\"}" get --prefix "$under/"
}

# Registers this member as etcd 3.6 does, unless its key is there.
register() {
	key=$under/members/$id
	value=$(printf '%s\n' "$OWN_RAW" | tr ',' '\n' | sed "s/^/$name=/" | sort | tr '\n' ',')
	value=${value%,}
	input=$(printf 'create("%s") = "0"\n\nput -- %s %s' "$(quoted "$key")" "$key" "$value")
	key=$(base64_of "$key")
	at_v3 kv/txn "{\"compare\":[{\"key\":\"$key\",\"target\":\"CREATE\"}],\"success\":[{\"requestPut\":{\"key\":\"$key\",\"value\":\"$(base64_of "$value")\"}}]}" txn
	case $?/$answer in
	0/silent*) why_not="cannot register: $at: $(line 4)" ;;
	0/*) ;;
	*) why_not="cannot register: $at: $(problem)" ;;
	esac
}

ask_v2() {
	at=${ETCD_DISCOVERY%/}
	proxy=
	[ -z "${ETCD_DISCOVERY_PROXY:-}" ] || proxy="proxy = \"$(quoted "$ETCD_DISCOVERY_PROXY")\""
	answer=$({ url "$at/_config/size" && printf '%s\n' "$proxy"; } | fetch -K -) || return
	SIZE=$(printf '%s\n' "$answer" | awk "$json"'END { if (parse() && code == 200) print V[".node.value"] }')
	export SIZE
	answer=$({ url "$at" && printf '%s\n' "$proxy"; } | fetch -K -) || return
	answer=$(printf '%s\n' "$answer" | MODE=v2 awk "$sorted$json$registrations")
}

ask_registry() {
	if "ask_$bootstrap"; then
		registry=$(line 1)
		first=$(line 4)
	else
		registry=silent
		first=$(problem)
	fi
	registered=$(line 2)
	size=$(line 3)
	case $registry in
	open) why="not all initial members have registered yet" ;;
	full)
		why="the token names no other initial member"
		set -- "$(printf '%s\n' "$first" | tr ',' '\n' | sed 's/^[^=]*=//')"
		peers=$(others "$peers" "$1") TOLD=$(others "$TOLD" "$1")
		;;
	unknown) why="the token cannot be used: $first" ;;
	*) registry=silent why="the discovery cluster does not answer: $at: $first" ;;
	esac
}
# --- end

# start STATE CLUSTER: etcd may start with that cluster and nothing else.
start() {
	printf 'ETCD_NAME=%s\nETCD_INITIAL_ADVERTISE_PEER_URLS=%s\n' "$name" "$OWN_RAW"
	printf 'ETCD_INITIAL_CLUSTER=%s\nETCD_INITIAL_CLUSTER_STATE=%s\n' "$2" "$1"
	printf 'ETCD_DISCOVERY%s=\n' '' _SRV _TOKEN _ENDPOINTS
}

join() {
	say "added to the cluster: starting"
	start existing "${verdict#* }"
	exit 0
}

# Whether etcd was started here and its data is gone. A mark beside the data
# directory, or in /var/tmp where it cannot be made there, tells of the start.
started_here() {
	[ ! -d "$wal/$mark" ] && { [ -d "${data%/}.$mark" ] || [ -d "/var/tmp/$mark" ]; } &&
		why_not="etcd was started here before, and its data is gone from $data"
}
# Whether the first initial member of a static cluster may still form it. If
# not, why_not says why.
window_is_open() {
	if ! [ "$now" -ge "${window%-*}" ] 2>/dev/null; then
		why_not="the clock of this machine is before the creation of its configuration"
		return 1
	elif ! [ "$now" -le "${window#*-}" ] 2>/dev/null; then
		why_not="the bootstrap window of this member is over: terraform plan says what to do"
	elif ! started_here; then
		return 0
	fi
	[ -n "$peers" ] || never "$why_not"
	return 1
}
# Leaves the mark where etcd makes its log, which removes it: where it is, the
# data is not gone, for there has never been any.
leave_mark() {
	owner=$data
	[ -d "$data" ] || owner=$(dirname "$data")
	# shellcheck disable=SC2012 # the name stands behind what is read
	owner=$(ls -ldn "$owner" | awk '{ print $3 ":" $4 }')
	mkdir -p "$wal/$mark"
	chown -R "$owner" "$data" "$wal"
	[ -d "$wal/$mark" ]
} >/dev/null 2>&1
# Leaves the mark that tells that etcd was started.
mark_start() {
	leave_mark && { [ -d "${data%/}.$mark" ] || mkdir "${data%/}.$mark" || mkdir "/var/tmp/$mark"; }
} 2>/dev/null

# --- restore
# Makes the data of this member from the snapshot, in directories of its own. The
# log is moved into place last, by one rename: only a log makes a directory the
# data of a member. Whatever ends this earlier, the next run begins again.
restore() {
	first=0000000000000000-0000000000000000.wal
	[ ! -e "$data/member/snap" ] || later "cannot restore the snapshot: $data/member/snap exists, and $wal has no log"
	case $ETCD_JOIN_RESTORE in "$data/member/"*) later "cannot restore the snapshot: move $ETCD_JOIN_RESTORE out of $data/member" ;; esac
	{ leave_mark && sync && mkdir -p "$made" "$log" && leave_mark; } || not_restored "cannot write to $data and $wal"
	# What is checked is what is restored: a copy that nobody else writes.
	file=$made/snapshot
	case $ETCD_JOIN_RESTORE in
	http://* | https://*)
		answer=$(download 33554432 "$ETCD_JOIN_RESTORE" "$file" --proto =http,https --proto-redir =https 2>&1) ||
			not_restored "cannot download it: $(problem | sed 's/[^ ]*:\/\/[^ ]*/URL/g')"
		;;
	*) answer=$(cat 2>&1 <"$ETCD_JOIN_RESTORE" >"$file") || not_restored "cannot copy it: $answer" ;;
	esac
	sum=$({ sha256sum <"$file"; } 2>/dev/null) || not_restored "cannot read $file"
	sum=${sum%% *}
	[ "$sum" = "${ETCD_JOIN_RESTORE_SHA256:-}" ] || not_restored "its SHA-256 is $sum, and should be ${ETCD_JOIN_RESTORE_SHA256:-}"
	[ -x "$bin/etcdutl" ] || not_restored "there is no $bin/etcdutl"
	# etcd would end at each start if the data is of a later version.
	theirs=$("$bin/etcdutl" snapshot status -w json "$file" 2>/dev/null | sed -n 's/.*"version":"\([0-9]*[.][0-9]*\).*/\1/p')
	# etcdutl 3.5 does not tell: the key stands directly before its value.
	[ -n "$theirs" ] || theirs=$(tr -cs 'A-Za-z0-9.' '\n' <"$file" | sed -n 's/.*storageVersion\(3[.][0-9]*\)[.].*/\1/p' | sort -t . -k 2,2n | sed -n '$p')
	ours=$("$bin/etcd" --version 2>/dev/null | sed -n 's/^etcd Version: \([0-9]*[.][0-9]*\).*/\1/p')
	[ "$(printf '%s\n' "$theirs" "$ours" | sort -t . -k 1,1n -k 2,2n | sed -n '$p')" = "$ours" ] || not_restored "it is of etcd $theirs, and $bin/etcd is $ours"
	set -- --name "$name" --initial-cluster "$ETCD_INITIAL_CLUSTER" --initial-cluster-token "${ETCD_INITIAL_CLUSTER_TOKEN:-etcd-cluster}"
	# etcdutl takes both of them or neither.
	[ -z "${ETCD_JOIN_RESTORE_BUMP:-}" ] || set -- "$@" --bump-revision "$ETCD_JOIN_RESTORE_BUMP" --mark-compacted
	answer=$("$bin/etcdutl" snapshot restore "$@" --initial-advertise-peer-urls "$OWN_RAW" --data-dir "$made/data" --wal-dir "$log/wal" --skip-hash-check=false "$file" 2>&1) ||
		not_restored "etcdutl says: $(printf '%s\n' "$answer" | awk 'sub(/^Error: /, "") { said = 1; print; exit } { last = $0 } END { if (!said) print substr(last, 1, 400) }')"
	[ "$(ls "$log/wal" 2>/dev/null)" = "$first" ] || not_restored "etcdutl made another log than $first"
	leave_mark
	mark_start
	{ sync && mv "$made/data/member/snap" "$data/member/" && sync && mv "$log/wal/$first" "$wal/" && sync; } 2>/dev/null ||
		later "cannot restore the snapshot: cannot move the data into place"
	kept=$wal/$first
	tidy
}
not_restored() {
	tidy
	later "cannot restore the snapshot: $1"
}
# --- end

# A founder may start with its environment as it is. If that holds what an
# earlier run printed (an empty token tells), it is printed again.
start_founder() {
	# --- restore
	[ -z "${ETCD_JOIN_RESTORE:-}" ] || restore
	[ -n "$kept" ] ||
	# --- end
	mark_start
	if [ "$bootstrap" = static ] && [ -n "${ETCD_DISCOVERY_TOKEN+set}" ]; then
		start new "$ETCD_INITIAL_CLUSTER"
		printf 'ETCD_INITIAL_CLUSTER_TOKEN=%s\n' "${ETCD_INITIAL_CLUSTER_TOKEN:-etcd-cluster}"
	fi
	exit 0
}

# No sign of a cluster that has formed: may this founder help to form it?
# Returns if it has to wait, with the reason in why_not. $1 is silent, or
# forming/1 if this member is listed.
found() {
	found=$1
	case $bootstrap/$registry/$1 in
	# A moment may mislead (a member that starts has not read its log yet), so
	# all this must hold twice. Of a static cluster one member starts first, and
	# the others once they see it.
	static//forming/1) started_here || [ "$was" != "$1" ] || start_founder ;;
	static//silent)
		if [ -z "$window" ]; then
			why_not="waiting for $(printf '%s\n' "$ETCD_INITIAL_CLUSTER" | tr ',' '\n' | sed 's/=.*//' | sort | sed 1q), the first initial member: $why_not"
		elif window_is_open; then
			# The later in the window, the more likely is a machine that was made
			# again, whose peers only cannot be reached yet.
			[ "$was" = "$1" ] || since=$now
			need=$(((now - ${window%-*}) / 60))
			[ "$need" -le 30 ] || need=30
			[ "$was" != "$1" ] || [ $((now - since)) -lt "$need" ] || start_founder
		fi
		;;
	# --- registry
	v3/open/silent | v3/open/forming/1)
		# While the registry is open no member of it has started: a mark that is
		# made now tells later that this one has not.
		why_not="registered: waiting for the other initial members"
		if [ ! -d "$wal/$mark" ] && ! leave_mark; then
			why_not="cannot write to $wal: run this as the user of etcd"
		elif [ "$registered" = 0 ]; then
			# Before the registration: after a power cut it may have to tell.
			sync "$wal" 2>/dev/null
			version=$("$bin/etcd" --version 2>/dev/null | sed -n 's/^etcd Version: //p')
			# It may be anywhere, if the script need not start it.
			[ -e "$bin/etcd" ] || [ -n "${ETCD_JOIN_BIN:-}" ] || version=none
			case $version in
			# It registers itself, once it has found its settings to be right.
			3.[6-9]* | 3.[1-9][0-9]* | [4-9]*)
				mark_start
				exit 0
				;;
			'') why_not="$bin/etcd does not run" ;;
			*) register ;;
			esac
		fi
		;;
	v2/open/silent | v2/open/forming/1)
		# etcd would refuse with "duplicate id"; the cluster forms without it,
		# and then its place on the list is free for it to take.
		if [ "$registered" = 0 ]; then
			mark_start
			exit 0
		fi
		why_not="registered before: waiting for the other initial members"
		;;
	v?/full/*)
		if [ "$registered" = 0 ]; then
			why_not="the token is full and this member is not among its first $size"
		elif [ "$1" = forming/1 ] || { [ "$1" = silent ] && [ -d "$wal/$mark" ]; }; then
			# Without the registry, which can be used once, and not by every version.
			# What it stands for can be used again: the same members under the same
			# token have the same IDs, and etcd asks the others itself whether this
			# one has run.
			token=${ETCD_DISCOVERY_TOKEN:-}
			[ "$bootstrap" = v3 ] || token=$ETCD_DISCOVERY
			mark_start
			say "starting with the initial members of the token"
			start new "$first"
			printf 'ETCD_INITIAL_CLUSTER_TOKEN=%s\n' "$token"
			exit 0
		elif [ "$size" = 1 ]; then
			never "registered for a cluster of one and its data is gone from $data: replace the token, or restore a snapshot"
		else
			why_not="registered before, so this member may have run: waiting for another initial member"
		fi
		;;
	v?/unknown/* | v?/silent/*) why_not=$why ;;
	# --- end
	*) why_not="the peers do not list this member" ;;
	esac
}

[ "$bootstrap" != none ] || [ -n "$peers" ] || later "ETCD_JOIN_PEERS is not set"

rounds=0
targets=$peers
heard=
found=
clock() {
	now=$(date +%s)
	# Without a clock, one round.
	case $now in '' | *[!0-9]*) now=0 rounds=180 ;; esac
}
clock
# One run leaves room for the start of etcd in the 90 seconds of systemd.
deadline=$((now + 45))
# The pause of one that can only wait for a change of the cluster.
grow=1
slower() {
	pause=$grow
	[ "$grow" = 16 ] || grow=$((grow * 2))
}
again() {
	# At least two rounds, however long one took, and not for ever, even if the
	# clock is set back.
	clock
	[ "$rounds" -lt 2 ] || [ "$now" -le "$deadline" ] || exit 75
	[ "$rounds" -lt 180 ] || exit 75
	sleep "$pause" 2>/dev/null || sleep 1
}

# A member that has its data starts, unless it was removed: such a start ends at
# once, and would be tried again and again. A majority of the others must not
# list its ID, and one of them must refuse it in the cluster as etcd refuses the
# connections of a removed member (410). Lists alone can be old for a moment: a
# member that starts lists what it reads of its log. The IDs stand in the log,
# in the protocol buffer of its second record. If the cluster lists a learner with
# our URLs that has not run, it starts, and the old data is renamed.
if [ -n "$kept" ]; then
	# shellcheck disable=SC2046 # two words
	set -- $(od -An -v -tu1 -N 512 "$kept" 2>/dev/null | awk '
		function number(   bits, x, byte, i, hex) {
			do {
				byte = x = b[p++]
				for (i = 0; i < 7; i++) { bits = bits x % 2; x = int(x / 2) }
			} while (byte > 127)
			for (; bits ~ /1/; bits = substr(bits, 5))
				hex = substr("0123456789abcdef", substr(bits, 1, 1) + 2 * substr(bits, 2, 1) + 4 * substr(bits, 3, 1) + 8 * substr(bits, 4, 1) + 1, 1) hex
			return hex
		}
		{ for (i = 1; i <= NF; i++) b[n++] = $i }
		END { p = b[0] + b[7] % 8 + 19; number(); p += 3; id = number(); p++; print id, number() }')
	DATA_ID=$(printf %u "0x${1:-0}")
	export DATA_ID
	while :; do
		rounds=$((rounds + 1))
		removed=
		for patience in 0.3 0.8; do
			targets=$peers
			listen
			peers=$more
			case $known$verdict in
			1*) exit 0 ;;
			absent* | ran | join* | vote* | 'wait not'*) ;;
			*) continue ;;
			esac
			for peer in $heard; do
				case " $TOLD " in *" $peer "*) ;; *) continue ;; esac
				case $(fetch_peer -H "X-Etcd-Cluster-ID: ${2:-}" -H 'X-Server-Version: 3.0.0' "$peer/raft/stream/message/${1:-}") in
				'HTTP/1.1 410'*) removed=1 && break 2 ;;
				esac
			done
		done
		case $removed$verdict in
		1join*)
			# The log makes a directory the data of a member: it goes last.
			mv "$data/member" "$data/removed-$1"
			[ ! -e "$kept" ] || mv "$wal" "$data/removed-$1/wal" && join
			say "cannot move $data"
			;;
		1*) say "$name ($OWN) was removed from the cluster: replace the member" ;;
		*) exit 0 ;;
		esac
		slower
		again
	done
fi
while :; do
	pause=0.25
	# --- registry
	# One that joins needs no registry once a peer has answered.
	case $bootstrap/$registry/$founder$heard in v?/full/* | v?/*/0?*) ;; v?/*)
		ask_registry
		[ "$registry" = full ] || pause=1
		targets=$peers
		;;
	esac
	# --- end
	rounds=$((rounds + 1))
	listen
	if [ "$more" != "$peers" ]; then
		peers=$more
		targets=$peers
		continue
	fi
	targets=$peers
	patience=2
	was=$found
	found=
	why_not=${verdict#* }
	# --- registry
	# One that has not run and is among the first needs no word of its peers. While
	# the registry is open, those that wait for it accept connections and are silent.
	case $registry/$founder/$verdict in
	open/1/"wait a peer "*) verdict="silent $why_not" ;;
	full/*/"wait a peer "*) [ ! -d "$wal/$mark" ] || verdict="silent $why_not" ;;
	esac
	# --- end
	case $verdict in
	ran)
		why_not="$name ($OWN) has run before and its data is gone from $data: replace the member"
		slower
		;;
	"vote "*)
		found=$verdict
		why_not="not added yet"
		if ! started_here && [ "$was" = "$verdict" ]; then
			mark_start
			join
		fi
		;;
	"join "*)
		join
		;;
	"absent "*)
		# One that hangs must not hold up the news of the others: ask it now
		# and then, and not for long.
		patience=1
		if [ $((rounds % 8)) = 0 ]; then
			patience=0.5
		else
			targets=$(others "$heard")
		fi
		;;
	"forming "*)
		why_not="the peers have not formed their cluster yet"
		[ "$founder" = 0 ] || found "forming/${verdict#forming }"
		;;
	"silent "*)
		why_not="no peer answers: $why_not"
		if [ "$founder" = 1 ]; then
			found silent
		# --- registry
		elif [ -z "$peers" ]; then
			why_not=$why
		# --- end
		fi
		;;
	esac
	say "${why_not:-no answer can be read}"
	again
done
