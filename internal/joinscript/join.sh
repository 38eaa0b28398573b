#!/bin/sh
# SPDX-License-Identifier: MPL-2.0
#
# etcd-join: says how etcd may start on this machine. Run it before etcd, from
# the command that then becomes etcd:
#
#   etcd-join > /run/etcd/join.env || exit
#   while IFS= read -r assignment; do export "$assignment"; done < /run/etcd/join.env
#   exec etcd
#
# and not as an ExecStartPre of systemd, which heeds RestartPreventExitStatus=78
# for the main process only (systemd#11868).
#
# It reads etcd's own ETCD_* variables and ETCD_JOIN_PEERS (more peer URLs to
# ask); ETCD_JOIN_DISCOVERY, or ETCD_JOIN_DISCOVERY_TOKEN and _ENDPOINTS, is the
# registry in which the peers of one that joins found each other. Standard
# output: ETCD_* assignments that override the environment. Standard error: the
# reasons.
#
# Exit 0: start etcd. 75: not yet, run me again. 78: this identity has run
# before and its data is gone: never start it.
#
# shellcheck disable=SC2016 # awk programs stand in single quotes
set -u
LC_ALL=C
export LC_ALL

# Decided when the configuration of this member was made.
own_name=''
own_urls=''
known_peers=''
founder=0
wait_seconds=45

said=
say() {
	[ "$1" = "$said" ] || printf 'etcd-join: %s\n' "$1" >&2
	said=$1
}
later() {
	say "$1"
	exit 75
}
never() {
	say "$1"
	exit 78
}

# The environment is what etcd itself will obey, so it comes first.
name=${ETCD_NAME:-$own_name}
own_raw=${ETCD_INITIAL_ADVERTISE_PEER_URLS:-$own_urls}

# etcd takes up an existing identity when, and only when, there is a WAL; the
# rest of the directory is made by starts that failed, too.
readable() {
	if [ ! -r "$1" ] || [ ! -x "$1" ]; then
		later "cannot read $1: run this as the user that runs etcd"
	fi
}
data=${ETCD_DATA_DIR:-${name:-default}.etcd}
wal=${ETCD_WAL_DIR:-$data/member/wal}
if [ -d "$wal" ]; then
	readable "$wal"
	for file in "$wal"/*.wal; do
		[ ! -e "$file" ] || exit 0
	done
elif [ -d "$data" ]; then
	readable "$data"
	[ ! -d "$data/member" ] || readable "$data/member"
fi
set -f # URLs may contain [ ]

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

command -v curl >/dev/null || later "curl is not installed, or not on PATH"
case $name in
'') later "the member has no name: set ETCD_NAME" ;;
*[!A-Za-z0-9._:@%+~/-]*) later "the name of the member has characters that cannot stand in ETCD_INITIAL_CLUSTER" ;;
esac
OWN_NAME=$name
OWN_RAW=$(printf '%s\n' "$own_raw" | tr -d ' \t')
OWN=$(printf '%s\n' "$own_raw" | urls | sort | tr '\n' ',')
OWN=${OWN%,}
export OWN_NAME OWN_RAW OWN
[ -n "$OWN" ] || later "no peer URL of this member is known: set ETCD_INITIAL_ADVERTISE_PEER_URLS"
case $OWN_RAW in
*[!][A-Za-z0-9._:%,/-]*) later "a peer URL of this member has characters that no URL has" ;;
esac

# The URLs in the arguments that are not ours, on one line.
others() {
	printf '%s\n' "$@" | urls | awk '
		BEGIN { n = split(ENVIRON["OWN"], a, ","); for (i = 1; i <= n; i++) own[a[i]] = 1 }
		!($0 in own) && NR <= 100 { printf "%s%s", sep, $0; sep = " " }'
}
initial_urls=$(printf '%s\n' "${ETCD_INITIAL_CLUSTER:-}" | tr ',' '\n' | sed 's/^[^=]*=//')
peers=$(others "$known_peers" "${ETCD_JOIN_PEERS:-}" "$initial_urls")

# How a founder was told to find the other founders. One whose environment
# already says "existing" holds what an earlier run printed: it was announced.
bootstrap=none
case ${ETCD_INITIAL_CLUSTER_STATE:-new} in new) ;; *) founder=0 ;; esac
if [ "$founder" = 1 ]; then
	if [ -n "${ETCD_DISCOVERY_TOKEN:-}" ] && [ -n "${ETCD_DISCOVERY_ENDPOINTS:-}" ]; then
		bootstrap=v3
	elif [ -n "${ETCD_DISCOVERY:-}" ]; then
		bootstrap=v2
	elif [ -n "${ETCD_INITIAL_CLUSTER:-}" ]; then
		bootstrap=static
	else
		later "a founder needs ETCD_INITIAL_CLUSTER, ETCD_DISCOVERY or ETCD_DISCOVERY_TOKEN and ETCD_DISCOVERY_ENDPOINTS; none is set"
	fi
elif [ -n "${ETCD_JOIN_DISCOVERY_TOKEN:-}" ] && [ -n "${ETCD_JOIN_DISCOVERY_ENDPOINTS:-}" ]; then
	bootstrap=v3 ETCD_DISCOVERY_TOKEN=$ETCD_JOIN_DISCOVERY_TOKEN ETCD_DISCOVERY_ENDPOINTS=$ETCD_JOIN_DISCOVERY_ENDPOINTS
elif [ -n "${ETCD_JOIN_DISCOVERY:-}" ]; then
	bootstrap=v2 ETCD_DISCOVERY=$ETCD_JOIN_DISCOVERY
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
		if (gsub(/[.]/, ".", path) > 8) { bad = 1; return } # no answer is that deep
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
!head && text == "" && /^HTTP\// { head = 1 }
head && /^HTTP\// { code = $2; next }
head && /^$/ { head = 0; next }
head { if (tolower($1) == "x-etcd-cluster-id:") cluster = $2; next }
# Nobody has as many members as that; what is cut off cannot be parsed.
length(text) < 65536 { text = text substr($0, 1, 65536) " " }
'

# One answer, as lines that others can be mixed with:
#   M asked cluster id learner started urls name    a member
#   E asked cluster members                         the end of the list
#   F asked code reason                             no usable answer
members='
END {
	asked = ENVIRON["ASKED"]
	if (code != 200 || cluster !~ /^[0-9a-f]+$/ || !parse()) {
		print "F " asked " http it is no etcd peer (HTTP status " code ")"
		exit
	}
	for (n = 0; (("." (n + 1) ".id") in V) && n < 100; n++) {
		p = "." (n + 1)
		list = ""
		for (i = 1; ((p ".peerURLs." i) in V); i++) {
			u = V[p ".peerURLs." i]
			if (!plain(u)) { print "F " asked " http it lists a member with a peer URL that is none"; exit }
			list = list (i > 1 ? "," : "") u
		}
		if (V[p ".id"] !~ /^[0-9]+$/ || list == "") { print "F " asked " http its list of members cannot be read"; exit }
		who = V[p ".name"]
		if (who !~ /^[A-Za-z0-9._-]+$/) who = "-"
		out[n] = "M " asked " " cluster " " V[p ".id"] " " (V[p ".isLearner"] == "true") " " (V[p ".clientURLs.1"] != "") " " list " " who
	}
	if (n == 0) { print "F " asked " http it lists no members"; exit }
	for (i = 0; i < n; i++) print out[i]
	print "E " asked " " cluster " " n
}'

# The answer with its head, or what curl says is wrong. On HTTP/2 a peer port
# over TLS serves gRPC only.
patience=2
fetch() {
	set -- -q -sS -g -i --http1.1 --connect-timeout 1 --max-time "$patience" --max-filesize 1000000 "$@"
	curl "$@" 2>&1
}
# What curl says, without the figures that differ each time.
problem() {
	printf '%s\n' "$answer" | tr -d '\001-\011\013-\037\177' |
		sed -n '/curl: ([0-9]*) / { s/.*curl: ([0-9]*) //; s/ after [0-9]* m[a-z]*//; p; q; }'
}

ask() {
	set -- "$1" "${ETCD_PEER_CLIENT_CERT_FILE:-${ETCD_PEER_CERT_FILE:-}}" "${ETCD_PEER_CLIENT_KEY_FILE:-${ETCD_PEER_KEY_FILE:-}}"
	ASKED=$1
	export ASKED
	answer=$(
		cert=$2 key=$3
		set -- "$1/members"
		[ -z "${ETCD_PEER_TRUSTED_CA_FILE:-}" ] || set -- --cacert "$ETCD_PEER_TRUSTED_CA_FILE" "$@"
		[ -z "$cert" ] || set -- --cert "$cert" --key "$key" "$@"
		[ "${ETCD_PEER_AUTO_TLS:-}" != true ] || set -- -k "$@"
		fetch "$@"
	)
	code=$?
	if [ "$code" = 0 ]; then
		answer=$(printf '%s\n' "$answer" | awk "$json$members") || answer="F $1 http its answer cannot be read"
	else
		answer="F $1 $code $(problem)"
	fi
	# Line by line: a line is short enough for one write to the shared pipe.
	printf '%s\n' "$answer" | while IFS= read -r line; do
		printf '%s\n' "$line"
	done
}

ask_all() {
	for peer in $targets; do
		ask "$peer" &
	done
	wait
}

# What the answers say, on three lines: a verdict, the peer URLs that they
# name, the URLs that answered. A verdict that lets etcd start, or forbids it for ever, needs the
# same list from a majority of the voters on it other than this member: a
# removed member that still runs, or one that is cut off, repeats an old list.
#   ran              listed, and has run
#   join CLUSTER     listed, has not run, and the cluster works
#   absent REASON    the cluster works, and this member is not on its list
#   forming LISTED   there is a list, on which nobody has run yet
#   silent CERTAIN   nobody answers (1: because nothing listens)
#   wait REASON      none of these
judge='
$1 == "M" {
	i = ++count[$2]
	u = sorted($7)
	id[$2, i] = $4; learner[$2, i] = $5; urls[$2, i] = u; raw[$2, i] = $7; who[$2, i] = $8
	sig[$2] = sig[$2] $4 "/" $5 "/" u ";"
	if ($6) { formed = $2; started[$4] = 1 }
	if (u == ENVIRON["OWN"]) listed = 1
	n = split(u, a, ",")
	for (i = 1; i <= n; i++) if (!(a[i] in named)) { named[a[i]] = 1; learn = learn " " a[i] }
}
$1 == "E" { total[$2] = $4; cluster[$2] = $3 }
$1 == "F" {
	code = $3
	if (code != 7) soft = 1
	asked = $2
	sub(/^F [^ ]+ [^ ]+ /, "")
	if (code == "http" || code ~ /^(58|59|60|66|77|83|90|91)$/ || /alert/) unsure = asked ": " $0
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
		for (i = 1; i <= count[p]; i++) {
			if (learner[p, i] || urls[p, i] == ENVIRON["OWN"]) continue
			voters++
			n = split(urls[p, i], a, ",")
			for (j = 1; j <= n; j++) owner[a[j]] = id[p, i]
		}
		split("", voted)
		k = 0
		for (i = 1; i in who_says; i++) if ((who_says[i] in owner) && !(owner[who_says[i]] in voted)) { voted[owner[who_says[i]]] = 1; k++ }
		split("", who_says)
		if (k > best) { best = k; of = voters }
		if (voters && 2 * k > voters) { majority++; view = p }
	}
	sub(/^; /, "", silence)
	if (!answers) {
		if (unsure != "") print "wait a peer is there but cannot be asked: " unsure
		else print "silent " (soft ? 0 : 1) " " silence
	} else if (clusters > 1) {
		print "wait the peers belong to different clusters:" ids
	} else if (majority > 1) {
		print "wait the peers disagree on the members of the cluster"
	} else if (formed == "") {
		print "forming " (listed ? 1 : 0)
	} else if (!majority) {
		print "wait a cluster is there, but only " best + 0 " of its " of + 0 " other voters give the same list of members (a majority is needed)" (silence == "" ? "" : "; no answer from " silence)
	} else {
		us = 0
		near = ""
		for (i = 1; i <= count[view]; i++) {
			if (urls[view, i] == ENVIRON["OWN"]) { us = i; continue }
			names[who[view, i]]++
			n = split(urls[view, i], a, ",")
			for (j = 1; j <= n; j++) if (index("," ENVIRON["OWN"] ",", "," a[j] ",")) near = raw[view, i]
		}
		if (us && started[id[view, us]]) print "ran"
		else if (us) {
			for (i = 1; i <= count[view]; i++) {
				label = who[view, i]
				if (label == "-" || label == ENVIRON["OWN_NAME"] || names[label] > 1) label = "member-" id[view, i]
				text = raw[view, i]
				if (i == us) { label = ENVIRON["OWN_NAME"]; text = ENVIRON["OWN_RAW"] }
				n = split(text, a, ",")
				for (j = 1; j <= n; j++) if (a[j] != "") { list = list sep label "=" a[j]; sep = "," }
			}
			print "join " list
		} else if (near != "") print "absent a member is announced with the peer URLs " near ", this one has " ENVIRON["OWN_RAW"]
		else print "absent not announced yet: no member of the cluster has the peer URLs " ENVIRON["OWN_RAW"]
	}
	print learn
	print ok
}'

# The registry of a founder. Sets registry to
#   silent       it does not answer (why)
#   unknown      it does not know the token (why)
#   open         fewer members than its size have registered
#   full         they have, so the cluster may have formed; first is their
#                initial cluster
# and registered to 1 if this member is among the first.
registry=
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
		if (reason !~ /^[A-Za-z0-9 :._-]+$/) reason = "no answer of a registry"
		# 400 and 404: a v2 registry or service that does not know the token.
		give_up(!v3 && (code == 400 || code == 404) ? "unknown" : "silent", "HTTP status " code ", " reason)
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
	if (size !~ /^[0-9]+$/ || size + 0 < 1) give_up("unknown", "it does not know the token, or holds no size for it")
	for (i = 1; i <= n && i <= size + 0; i++) {
		k = split(entry[i], a, ",")
		mine = ""
		for (j = 1; j <= k; j++) {
			eq = index(a[j], "=")
			label = substr(a[j], 1, eq - 1)
			u = substr(a[j], eq + 1)
			if (!plain(u)) give_up("unknown", "it holds a registration that cannot be read")
			if (label !~ /^[A-Za-z0-9._:@%+~-]+$/) label = "founder-" i
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

# Standard input is a curl configuration: secrets never stand in a process list.
fetch_v3() {
	set -- -K - "$@"
	[ -z "${ETCD_DISCOVERY_CACERT:-}" ] || set -- --cacert "$ETCD_DISCOVERY_CACERT" "$@"
	[ -z "${ETCD_DISCOVERY_CERT:-}" ] || set -- --cert "$ETCD_DISCOVERY_CERT" --key "${ETCD_DISCOVERY_KEY:-}" "$@"
	[ "${ETCD_DISCOVERY_INSECURE_SKIP_TLS_VERIFY:-}" != true ] || set -- -k "$@"
	fetch "$@"
}

# A string for JSON inside a quoted value of a curl configuration.
quoted() {
	printf '%s' "$1" | sed 's/[\\"]/\\&/g' | sed 's/[\\"]/\\&/g'
}

ask_v3() {
	user=${ETCD_DISCOVERY_USER:-}
	password=${ETCD_DISCOVERY_PASSWORD:-}
	if [ -z "$password" ]; then
		case $user in *:*) password=${user#*:} user=${user%%:*} ;; esac
	fi
	# The prefix and its end: "/" + 1 is "0".
	range=$(printf '%s\n%s\n' "/_etcd/registry/$ETCD_DISCOVERY_TOKEN/" "/_etcd/registry/${ETCD_DISCOVERY_TOKEN}0" | awk '
		function base64(s,   i, n, v) {
			for (i = 1; i <= length(s); i += 3) {
				n = ord[substr(s, i, 1)] * 65536 + ord[substr(s, i + 1, 1)] * 256 + ord[substr(s, i + 2, 1)]
				v = v digit(n / 262144) digit(n / 4096) (i + 1 > length(s) ? "=" : digit(n / 64)) (i + 2 > length(s) ? "=" : digit(n))
			}
			return v
		}
		function digit(n) { return substr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", int(n) % 64 + 1, 1) }
		BEGIN { for (i = 1; i < 256; i++) ord[sprintf("%c", i)] = i }
		NR == 1 { from = base64($0) }
		NR == 2 { printf "{\\\"key\\\":\\\"%s\\\",\\\"range_end\\\":\\\"%s\\\"}", from, base64($0) }')
	for endpoint in $(printf '%s\n' "$ETCD_DISCOVERY_ENDPOINTS" | tr ',' ' '); do
		case $endpoint in
		http://* | https://*) ;;
		*) if [ -n "${ETCD_DISCOVERY_CACERT:-}${ETCD_DISCOVERY_CERT:-}" ]; then endpoint=https://$endpoint; else endpoint=http://$endpoint; fi ;;
		esac
		endpoint=${endpoint%/}
		header=
		if [ -n "$user" ]; then
			answer=$(printf 'data = "{\\"name\\":\\"%s\\",\\"password\\":\\"%s\\"}"\n' "$(quoted "$user")" "$(quoted "$password")" |
				fetch_v3 "$endpoint/v3/auth/authenticate") || { why="$endpoint: $(problem)"; continue; }
			token=$(printf '%s\n' "$answer" | awk "$json"'END { if (parse() && code == 200 && V[".token"] ~ /^[A-Za-z0-9._=-]+$/) print V[".token"] }')
			# A registry without authentication refuses to authenticate.
			[ -z "$token" ] || header="header = \"Authorization: $token\""
		fi
		if answer=$(printf 'data = "%s"\n%s\n' "$range" "$header" | fetch_v3 "$endpoint/v3/kv/range"); then
			answer=$(printf '%s\n' "$answer" | MODE=v3 SIZE='' awk "$sorted$json$registrations")
			case $answer in silent*) why="$endpoint: $(printf '%s\n' "$answer" | sed -n 4p)" ;; *) return 0 ;; esac
		else
			why="$endpoint: $(problem)"
		fi
	done
	return 1
}

ask_v2() {
	url=${ETCD_DISCOVERY%/}
	set --
	[ -z "${ETCD_DISCOVERY_PROXY:-}" ] || set -- -x "$ETCD_DISCOVERY_PROXY"
	if ! answer=$(fetch "$@" "$url/_config/size"); then
		why="$url: $(problem)"
		return 1
	fi
	SIZE=$(printf '%s\n' "$answer" | awk "$json"'END { if (parse() && code == 200) print V[".node.value"] }')
	export SIZE
	if ! answer=$(fetch "$@" "$url"); then
		why="$url: $(problem)"
		return 1
	fi
	answer=$(printf '%s\n' "$answer" | MODE=v2 awk "$sorted$json$registrations")
	case $answer in silent*) why="$url: $(printf '%s\n' "$answer" | sed -n 4p)" && return 1 ;; esac
}

ask_registry() {
	registry=silent
	"ask_$bootstrap" || return 0
	registry=$(printf '%s\n' "$answer" | sed -n 1p)
	registered=$(printf '%s\n' "$answer" | sed -n 2p)
	size=$(printf '%s\n' "$answer" | sed -n 3p)
	first=$(printf '%s\n' "$answer" | sed -n 4p)
	case $registry in
	open) ;;
	full) peers=$(others "$peers" "$(printf '%s\n' "$first" | tr ',' '\n' | sed 's/^[^=]*=//')") ;;
	unknown) why=$first ;;
	*) registry=silent why="its answer cannot be read" ;;
	esac
}

# start STATE CLUSTER: etcd may start with that cluster and nothing else.
start() {
	printf 'ETCD_NAME=%s\nETCD_INITIAL_ADVERTISE_PEER_URLS=%s\n' "$name" "$OWN_RAW"
	printf 'ETCD_INITIAL_CLUSTER=%s\nETCD_INITIAL_CLUSTER_STATE=%s\n' "$2" "$1"
	printf 'ETCD_DISCOVERY=\nETCD_DISCOVERY_TOKEN=\nETCD_DISCOVERY_ENDPOINTS=\n'
	[ -z "${ETCD_DISCOVERY_SRV+set}" ] || printf 'ETCD_DISCOVERY_SRV=\n'
}

# A founder may start with its environment as it is. If that holds what an
# earlier run printed (an empty token tells), it is printed again.
start_founder() {
	if [ "$bootstrap" = static ] && [ -n "${ETCD_DISCOVERY_TOKEN+set}" ]; then
		start new "$ETCD_INITIAL_CLUSTER"
		printf 'ETCD_INITIAL_CLUSTER_TOKEN=%s\n' "${ETCD_INITIAL_CLUSTER_TOKEN:-etcd-cluster}"
	fi
	exit 0
}

# No sign of a cluster that has formed: may this founder help to form it?
# Returns if it has to wait, with the reason in why_not. $1 is forming or
# silent; $2 1 if it is certain (silent) or if this member is listed (forming).
found() {
	case $bootstrap/$registry/$1/$2 in
	static//forming/1 | static//silent/1) start_founder ;;
	static//silent/0)
		# Peers whose machines are not up yet, or a bad moment: ask once more.
		[ "$rounds" -lt 2 ] || start_founder
		why_not="nobody answers: ${verdict#silent 0 }"
		;;
	v3/open/silent/* | v3/open/forming/1) exit 0 ;;
	v2/open/silent/* | v2/open/forming/1)
		# etcd would refuse with "duplicate id"; the cluster forms without it,
		# and then its place on the list is free for it to take.
		[ "$registered" = 1 ] || exit 0
		why_not="registered before, waiting for the other founders to register"
		;;
	v?/full/forming/1)
		# The registry cannot be used twice by one member. What it stands for
		# can: the same members under the same token have the same IDs, and
		# etcd asks the others itself whether this one has run.
		if [ "$registered" = 1 ]; then
			token=${ETCD_DISCOVERY_TOKEN:-}
			[ "$bootstrap" = v3 ] || token=$ETCD_DISCOVERY
			case $token in *[!A-Za-z0-9._:/%?\&=+~@-]*) later "the discovery token has characters that cannot stand in ETCD_INITIAL_CLUSTER_TOKEN" ;; esac
			say "registered before; starting with the founders that the registry names"
			start new "$first"
			printf 'ETCD_INITIAL_CLUSTER_TOKEN=%s\n' "$token"
			exit 0
		fi
		why_not="the token is full and this member is not among its first $size"
		;;
	v?/full/*)
		if [ "$registered" = 0 ]; then
			why_not="the token is full and this member is not among its first $size"
		elif [ "$size" = 1 ]; then
			never "this member has registered for a cluster of one and its data is gone: replace the token to start anew, or restore a snapshot"
		else
			why_not="registered before, and the token is full, so this member may have run: waiting for another founder to say"
		fi
		;;
	v?/unknown/*) why_not="the registry knows no such cluster: $why" ;;
	v?/silent/*) why_not="the registry does not answer: $why" ;;
	*) why_not="the other founders do not list this member" ;;
	esac
}

[ "$bootstrap" != none ] || [ -n "$peers" ] || later "no peer is known to ask: set ETCD_JOIN_PEERS"
nap=0.25
sleep 0.01 2>/dev/null || nap=1
rounds=0
targets=$peers
heard=
deadline=$(($(date +%s) + wait_seconds))
while :; do
	pause=$nap
	# One that joins needs no registry once a peer has answered.
	case $bootstrap/$registry/$founder$heard in v?/full/* | v?/*/0?*) ;; v?/*)
		ask_registry
		[ "$registry" = full ] || pause=1
		targets=$peers
		;;
	esac
	rounds=$((rounds + 1))
	result=$(ask_all | sort | awk "$sorted$judge")
	verdict=$(printf '%s\n' "$result" | sed -n 1p)
	heard=$(printf '%s\n' "$result" | sed -n 3p)
	more=$(others "$peers" "$(printf '%s\n' "$result" | sed -n 2p)")
	if [ "$more" != "$peers" ]; then
		peers=$more
		targets=$peers
		continue
	fi
	targets=$peers
	patience=2
	case $verdict in
	ran) never "$name ($OWN) has run before and its data is gone from $data: it must not come back under this identity; replace the member" ;;
	"join "*)
		say "announced: starting"
		start existing "${verdict#join }"
		exit 0
		;;
	"absent "*)
		why_not=${verdict#absent }
		# One that hangs must not hold up the news of the others: ask it now
		# and then, and not for long.
		patience=1
		if [ $((rounds % 8)) = 0 ]; then
			patience=0.5
		else
			targets=$(others "$heard")
		fi
		;;
	"wait "*) why_not=${verdict#wait } ;;
	"forming "*)
		why_not="the peers have not formed their cluster yet"
		[ "$founder" = 0 ] || found forming "${verdict#forming }"
		;;
	"silent "*)
		certain=${verdict#silent }
		certain=${certain%% *}
		why_not="no peer answers: ${verdict#silent ? }"
		if [ "$founder" = 1 ]; then found silent "$certain"; elif [ -z "$peers" ]; then
			case $registry in
			open) why_not="no peer is known yet: not all founders are in the registry" ;;
			unknown) why_not="the registry knows no such cluster: $why" ;;
			silent) why_not="the registry does not answer: $why" ;;
			*) why_not="the registry names no peer but this one" ;;
			esac
		fi
		;;
	*) why_not="the answers of the peers cannot be read" ;;
	esac
	say "$why_not"
	# At least two rounds, however long one took.
	[ "$rounds" -lt 2 ] || [ "$(date +%s)" -le "$deadline" ] || exit 75
	sleep "$pause"
done
