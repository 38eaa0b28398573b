# SPDX-License-Identifier: MPL-2.0
#
# The run: what the environment says, and the rounds in which the peers are asked.

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

[ -z "${ETCD_CONFIG_FILE:-}" ] || never "ETCD_CONFIG_FILE is set, and replaces all others: unset it"
case ${ETCD_FORCE_NEW_CLUSTER:-} in '' | [0fF]*) ;; *) force=1 ;; esac

# etcd compares its store with those of its peers before it serves, unless the
# environment turns that off in either form. What etcd prints tells the form: 3.6 refuses
# both at once, 3.7 ignores the old one, and one that has neither starts without the check.
gates=$(printf %s "${ETCD_FEATURE_GATES:-}" | tr -cd '!-~')
old=${ETCD_EXPERIMENTAL_INITIAL_CORRUPT_CHECK:-}
case $old,$gates in
[0fF]* | *InitialCorruptCheck=[0fF]* | *All*a=[0fF]*) ;;
*)
	case ${old:+given}$("$bin/etcd" --help 2>&1) in
	given*-initial-corrupt-check*) ;;
	*InitialCorruptCheck=*) echo "ETCD_FEATURE_GATES=${gates:+$gates,}InitialCorruptCheck=true" ;;
	*-initial-corrupt-check*) echo ETCD_EXPERIMENTAL_INITIAL_CORRUPT_CHECK=true ;;
	esac
	;;
esac

# The environment is what etcd itself will obey, so it comes first.
name=${ETCD_NAME:-}

# etcd takes up an existing identity when, and only when, there is a WAL; the
# rest of the directory is made by starts that failed, too.
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
end_restore
# After a start with ETCD_FORCE_NEW_CLUSTER, etcd starts without it until it is unset: it would
# remove the members that have joined since.
once=$data/member/etcd-join-forced
if [ -z "$force" ]; then
	rmdir "$once" 2>/dev/null
elif [ -z "$kept" ]; then
	later "ETCD_FORCE_NEW_CLUSTER is set, and $data has no data: unset it"
elif [ -d "$once" ]; then
	force=
	echo ETCD_FORCE_NEW_CLUSTER=
	say "starting without ETCD_FORCE_NEW_CLUSTER, which was used before: unset it"
else
	# The environment may not know all voters: these are the peer URLs in the data.
	written=$(cat "$wal"/*.wal "$data"/member/snap/*.snap 2>/dev/null | tr -cs '][A-Za-z0-9._:/%-' '\n' | sed -n '/peerURLs$/,/^]/p')
fi
# URLs may contain [ ].
set -f

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

initial_urls=$(printf '%s\n' "${ETCD_INITIAL_CLUSTER:-}" | tr ',' '\n' | sed 's/^[^=]*=//')
peers=$(others "${ETCD_JOIN_PEERS:-}" "$initial_urls")
# The peers of the environment. Answers name more, which are asked too.
TOLD=$peers
export TOLD

# How an initial member was told to find the others. One whose environment
# already says "existing" holds what an earlier run printed: it was added.
bootstrap=none
founder=0
[ -n "$kept" ] || [ "${ETCD_INITIAL_CLUSTER_STATE:-new}" != new ] || founder=1
find_registry
if [ "$founder/$bootstrap" = 1/none ]; then
	bootstrap=static
	[ -n "${ETCD_INITIAL_CLUSTER:-}" ] || later "an initial member needs ETCD_INITIAL_CLUSTER, ETCD_DISCOVERY or ETCD_DISCOVERY_TOKEN and ETCD_DISCOVERY_ENDPOINTS"
fi

[ "$bootstrap" != none ] || [ -n "$kept$peers" ] || later "ETCD_JOIN_PEERS is not set"

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

# Sets is to what the servers in $about say of the member of the data:
#   running  a server runs as this member: it knows its own ID as that of a member, and as
#            that of no peer (404)
#   removed  a server refuses it in its cluster, as etcd refuses the connections of a removed
#            member (410). Lists alone can be old for a moment: a member that starts lists
#            what it reads of its log.
#   foreign  they are of another cluster
ask_about_data() {
	is=
	for peer in $about; do
		answer=$(fetch_peer -H "X-Etcd-Cluster-ID: $DATA_CLUSTER" -H 'X-Server-Version: 3.0.0' "$peer/raft/stream/message/$id")
		case $known/$answer in
		/'HTTP/1.1 410'*) is=removed ;;
		/*'cluster ID mismatch'*) is=${is:-foreign} ;;
		?*/'HTTP/1.1 404'*) is=running where="$peer, which runs" ;;
		esac
	done
}

# The log makes a directory the data of a member: it goes last.
set_aside() {
	mv "$data/member" "$data/removed-$id"
	[ ! -e "$kept" ] || mv "$wal" "$data/removed-$id/wal" && join
	why_not="cannot move $data"
}

# Starts etcd with its data. With ETCD_FORCE_NEW_CLUSTER, no other voter may be there in the
# rounds of 15 seconds: after a power loss, not all machines start at once.
start_with_data() {
	[ -n "$force" ] || exit 0
	why_not="ETCD_FORCE_NEW_CLUSTER is set: waiting for other voters"
	[ "$grow" = 16 ] || return
	{ mkdir "$once" && sync && exit 0; } 2>/dev/null
	why_not="cannot write to $data"
}

# A member that has its data starts, unless it was removed, it runs already, or the data is a
# copy of that of another member. The IDs stand in the log, in the protocol buffer of its
# second record.
if [ -n "$kept" ]; then
	# shellcheck disable=SC2046 # two words
	set -- $(od -An -v -tu1 -N 512 "$kept" 2>/dev/null | awk '
		function number(   bits, x, byte, i, hex) {
			do {
				byte = x = b[p++]
				for (i = 0; i < 7; i++) { bits = bits x % 2; x = int(x / 2) }
			} while (byte > 127)
			for (; bits ~ /1/; bits = substr(bits, 5))
				hex = sprintf("%x", substr(bits, 1, 1) + 2 * substr(bits, 2, 1) + 4 * substr(bits, 3, 1) + 8 * substr(bits, 4, 1)) hex
			return hex
		}
		{ for (i = 1; i <= NF; i++) b[n++] = $i }
		END { p = b[0] + b[7] % 8 + 19; number(); p += 3; id = number(); p++; print id, number() }')
	id=${1:-} DATA_ID=$(printf %u "0x${1:-0}") DATA_CLUSTER=${2:-}
	export DATA_ID DATA_CLUSTER
	[ -z "$force" ] || peers=$(others "$peers" "$written")
	while :; do
		rounds=$((rounds + 1))
		# At our URLs, a copy of this machine may answer.
		for patience in 0.3 0.8; do
			targets="$peers $(printf %s "$OWN" | tr , ' ')"
			listen
			[ "$force$about $known $more" != " ours $peers" ] || exit 0
			peers=$more
		done
		ask_about_data
		[ -z "$force" ] || [ "$voters" = none ] ||
			later "ETCD_FORCE_NEW_CLUSTER is set, and other voters may run at $voters: unset it, or stop them"
		# What has our URLs on the list of a majority.
		case $verdict in
		join*) here=learner ;;
		ran | vote* | 'wait not'*) here=member ;;
		absent*) here=nobody ;;
		*) here= ;;
		esac
		case $is/$known/$here in
		removed//learner | foreign//learner | */theirs/learner | */named/learner) set_aside ;;
		removed//?*) why_not="$name ($OWN) was removed from the cluster: replace the member" ;;
		running/* | */named/* | */theirs/member)
			why_not="$data has the data of member $id at $where, and this is $name ($OWN): if it is a copy, delete it"
			;;
		*) start_with_data ;;
		esac
		say "$why_not"
		slower
		again
	done
fi
while :; do
	pause=0.25
	ask_registry
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
	trust_registry
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
		[ "$founder" = 0 ] || found silent
		;;
	esac
	say "${why_not:-no answer can be read}"
	again
done
