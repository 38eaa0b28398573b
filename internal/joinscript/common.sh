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
# cloud_config reserves the variables that decide which member etcd is and how it starts
# (userdata/machine.go). Each may still come from local.env, a drop-in or the manager:
#   ETCD_NAME                   read. With data, only another name and another peer URL at
#                               once are those of another member
#   ETCD_DATA_DIR, _WAL_DIR     read: the data of another member there does not start
#   ETCD_INITIAL_ADVERTISE_     read. With data, etcd ignores it
#   PEER_URLS
#   ETCD_INITIAL_CLUSTER,       read without data: what the peers answer decides, and
#   _STATE, _TOKEN              is printed. With data, etcd ignores them
#   ETCD_DISCOVERY*             the same. etcd refuses two ways to start at once
#   ETCD_FORCE_NEW_CLUSTER      only with data, beside no other voter, and for one start
#   ETCD_CONFIG_FILE            never: etcd would ignore all variables
#
# Standard output: ETCD_* assignments that override the environment. They also turn on
# etcd's check of its store at its start. Standard error: the reasons.
#
# Exit 0: start etcd. 75: not yet, run me again. 78: with this environment etcd
# can never start here.
#
# Terraform stores this script without its comments, and of its files those that a
# configuration needs: this one, rules/judge.sh, static.sh or discovery.sh, empty.sh
# or restore.sh, start.sh, and main.sh, which runs (see joinscript.go).
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

said=
# A file of the log, if there is one.
kept=
# Not empty with ETCD_FORCE_NEW_CLUSTER: etcd would remove all other members.
force=
say() {
	[ "$1" = "$said" ] || printf 'etcd-join: %s\n' "$(printf '%s' "$1" | tr -cd ' -~')" >&2
	said=$1
}
# In doubt, a member that has its data starts, unless it would remove all others.
in_doubt() { [ -z "$kept" ] || [ -n "$force" ] || exit 0; }
later() {
	in_doubt
	say "$1"
	exit 75
}
never() {
	in_doubt
	say "$1"
	exit 78
}

readable() {
	if [ ! -r "$1" ] || [ ! -x "$1" ]; then
		later "cannot read $1: run this as the user of etcd"
	fi
}

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
# The URLs in the arguments that are not ours, on one line.
others() {
	printf '%s\n' "$@" | urls | awk '
		BEGIN { n = split(ENVIRON["OWN"], a, ","); for (i = 1; i <= n; i++) own[a[i]] = 1 }
		!($0 in own) && NR <= 100 { printf "%s%s", sep, $0; sep = " " }'
}

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
#   M asked cluster id learner started named urls    a member. named is 0 without a
#                                                    name, 2 with OWN_NAME
#   E asked cluster members                          the end of the list
#   F asked lives reason                             no usable answer
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
		named = (V[p ".name"] != "") + (V[p ".name"] == ENVIRON["OWN_NAME"])
		out[n] = "M " asked " " cluster " " V[p ".id"] " " (V[p ".isLearner"] == "true") " " (V[p ".clientURLs.1"] != "") " " named " " list
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

# Asks the targets, all at once.
listen() {
	answer=$(
		for peer in $targets; do
			ask "$peer" &
		done | sort | judge
	)
	IFS='|' read -r verdict more heard known about where voters _ <<-END
		$answer
	END
	more=$(others "$peers" "$more")
}
