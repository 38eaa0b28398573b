#!/bin/sh
# A "machine" on this computer: a directory in which a tiny supervisor runs one
# real etcd the way systemd would, from the very files that cloud-init would
# write.
#
#   MACHINE_ENV='ETCD_NAME=a ...' MACHINE_JOIN="$(gzip <join.sh | base64)" machine.sh new|up DIR
#   machine.sh status DIR
#   machine.sh down DIR
#
# up      writes etcd.env (from MACHINE_ENV, KEY=value lines) and join.sh (from
#         MACHINE_JOIN, its gzip in base64; may be empty) and the files in
#         MACHINE_FILES (lines of a path, which is below DIR then, and the
#         contents in base64), and starts the supervisor, detached. A machine
#         that is up with the same contents is left alone; one with other
#         contents is taken down first.
# new     is down, and then up: a machine with an empty disk. Terraform creates
#         machines with it, because it runs no destroy provisioner for one that
#         is tainted.
# status  says what runs. 0: etcd runs. 1: supervised, no etcd at the moment.
#         2: stopped for good by the join script. 3: not up.
# down    ends the supervisor and etcd and removes DIR. 0 also when DIR is gone.
#
# ETCD_BIN is the etcd to run (default: etcd on PATH). An etcdutl beside it, such
# as etcdutl-3.6 beside etcd-3.6, is linked with it, so that the join script can
# restore a snapshot. Each start and exit of etcd is appended to MACHINE_EVENTS
# (default: DIR.events, beside DIR) as "MILLISECONDS NAME start PID" and
# "MILLISECONDS NAME exit CODE".
set -u

retry_seconds=0.25 # between an exit and the next start, as RestartSec
stop_seconds=5     # between SIGTERM and SIGKILL, as TimeoutStopSec

die() {
	printf 'machine.sh: %s\n' "$1" >&2
	exit 64
}

now_ms() {
	# %N is GNU's; elsewhere whole seconds must do.
	ms=$(date +%s%3N)
	case $ms in *[!0-9]*) ms=$(date +%s)000 ;; esac
	printf '%s' "$ms"
}

event() {
	printf '%s %s %s\n' "$(now_ms)" "$name" "$1" >>"$events"
}

# What tells a process from a later one with the same pid: when it started.
started_at() {
	if [ -r "/proc/$1/stat" ]; then
		# The command in parentheses may hold anything; 22nd field of all. A
		# zombie has ended; it only waits to be reaped.
		sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | awk '$1 != "Z" { print $20 }'
	elif [ ! -d /proc/self ]; then
		ps -o lstart= -p "$1" 2>/dev/null
	fi
}

# record FILE PID
record() {
	printf '%s\n%s\n' "$2" "$(started_at "$2")" >"$1.new" && mv "$1.new" "$1"
}

# The pid in FILE, if that very process still runs.
running() {
	[ -r "$1" ] || return 1
	{ read -r pid && read -r since; } <"$1" || return 1
	case $pid in '' | *[!0-9]*) return 1 ;; esac
	[ -n "$since" ] && [ "$(started_at "$pid")" = "$since" ] || return 1
	printf '%s' "$pid"
}

# load FILE: exports its KEY=value lines as systemd's EnvironmentFile= does;
# nothing in it is run.
load() {
	[ -r "$1" ] || return 0
	while IFS= read -r line || [ -n "$line" ]; do
		case $line in
		'' | '#'* | ';'*) continue ;;
		[A-Za-z_]*=*) ;;
		*) continue ;;
		esac
		key=${line%%=*}
		case $key in *[!A-Za-z0-9_]*) continue ;; esac
		value=${line#*=}
		case $value in
		\"*\") value=${value#?} value=${value%?} ;;
		\'*\') value=${value#?} value=${value%?} ;;
		esac
		export "$key=$value"
	done <"$1"
}

# The environment of a machine that has just booted.
fresh() {
	for key in $(env | sed -n 's/^\(ETCD_[A-Za-z0-9_]*\)=.*/\1/p; s/^\(MACHINE_[A-Z]*\)=.*/\1/p'); do
		unset "$key"
	done
	export ETCD_DATA_DIR="$dir/data" ETCD_JOIN_BIN="$dir/bin"
	load "$dir/etcd.env"
}

nap() {
	sleep "$1" 2>/dev/null || sleep 1
}

supervise() {
	cd "$dir" || exit 1
	record "$dir/supervisor.pid" "$$"
	child=
	stopping=0
	trap '' HUP
	trap 'stopping=1; [ -z "$child" ] || kill -TERM "$child" 2>/dev/null' TERM INT

	# Waits for $child however often a signal interrupts it; its code is in code.
	await() {
		while :; do
			wait "$child"
			code=$?
			kill -0 "$child" 2>/dev/null || break
		done
		child=
	}

	while [ "$stopping" = 0 ]; do
		rm -f "$dir/join.env"
		if [ -s "$dir/join.sh" ]; then
			(
				fresh
				exec sh "$dir/join.sh"
			) >"$dir/join.env" 2>>"$dir/etcd.log" &
			child=$!
			[ "$stopping" = 0 ] || kill -TERM "$child" 2>/dev/null
			await
			[ "$stopping" = 0 ] || break
			case $code in
			0) ;;
			78)
				printf 'machine.sh: the join script forbids it: etcd stays down\n' >>"$dir/etcd.log"
				event "never 78"
				: >"$dir/never"
				rm -f "$dir/supervisor.pid"
				exit 0
				;;
			*)
				nap "$retry_seconds"
				continue
				;;
			esac
		fi
		(
			bin=$ETCD_BIN
			fresh
			load "$dir/join.env"
			exec "$bin"
		) >>"$dir/etcd.log" 2>&1 &
		child=$!
		record "$dir/etcd.pid" "$child"
		event "start $child"
		[ "$stopping" = 0 ] || kill -TERM "$child" 2>/dev/null
		await
		rm -f "$dir/etcd.pid"
		event "exit $code"
		[ "$stopping" = 1 ] || nap "$retry_seconds"
	done
	rm -f "$dir/supervisor.pid"
	exit 0
}

# The files as they would be written, for comparison.
same() {
	[ -f "$dir/etcd.env" ] && [ "$(cat "$dir/etcd.env")" = "$MACHINE_ENV" ] || return 1
	[ "$(cat "$dir/join.sh" 2>/dev/null)" = "${MACHINE_JOIN:-}" ]
}

new() {
	down
	up
}

up() {
	[ -n "${MACHINE_ENV:-}" ] || die "MACHINE_ENV is empty: it holds the contents of etcd.env"
	# $( ) drops trailing newlines, so compare and write without them.
	MACHINE_ENV=$(printf '%s' "$MACHINE_ENV")
	if [ -n "${MACHINE_JOIN:-}" ]; then
		MACHINE_JOIN=$(printf '%s' "$MACHINE_JOIN" | base64 -d | gunzip) || die "MACHINE_JOIN is not the base64 of a gzip"
	fi
	etcd=${ETCD_BIN:-etcd}
	case $etcd in
	*/*) [ -x "$etcd" ] && ETCD_BIN=$(cd "$(dirname "$etcd")" && pwd)/${etcd##*/} ;;
	*) ETCD_BIN=$(command -v "$etcd") ;;
	esac || die "no etcd: $etcd cannot be run; set ETCD_BIN"
	export ETCD_BIN
	if running "$dir/supervisor.pid" >/dev/null; then
		! same || exit 0
		down
	fi
	mkdir -p "$dir/bin" || exit 1
	ln -sf "$ETCD_BIN" "$dir/bin/etcd"
	case ${ETCD_BIN##*/} in
	etcd*)
		etcdutl=${ETCD_BIN%/*}/etcdutl${ETCD_BIN##*/etcd}
		[ ! -x "$etcdutl" ] || ln -sf "$etcdutl" "$dir/bin/etcdutl"
		;;
	esac
	: >"$dir/.machine"
	printf '%s\n' "$events" >"$dir/.events"
	(
		umask 077
		printf '%s\n' "$MACHINE_ENV" >"$dir/etcd.env"
		rm -f "$dir/join.sh"
		[ -z "${MACHINE_JOIN:-}" ] || printf '%s\n' "$MACHINE_JOIN" >"$dir/join.sh"
		printf '%s\n' "${MACHINE_FILES:-}" | while read -r path content; do
			[ -z "$path" ] || { mkdir -p "$dir${path%/*}" && printf %s "$content" | base64 -d >"$dir$path"; } || exit
		done
	) || exit 1
	rm -f "$dir/never" "$dir/supervisor.pid"
	unset MACHINE_ENV MACHINE_JOIN MACHINE_FILES
	# Nothing of the caller's stays open, or Terraform would wait for its end;
	# and a session of its own, so that the caller's Ctrl-C does not reach it.
	if command -v setsid >/dev/null; then
		setsid sh "$self" supervise "$dir" </dev/null >>"$dir/etcd.log" 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
	else
		set -m
		nohup sh "$self" supervise "$dir" </dev/null >>"$dir/etcd.log" 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
	fi
	tries=0
	until running "$dir/supervisor.pid" >/dev/null || [ -e "$dir/never" ]; do
		tries=$((tries + 1))
		[ "$tries" -lt 1200 ] || die "the supervisor of $dir does not start; see $dir/etcd.log"
		nap 0.05
	done
}

# end FILE SECONDS: ends the process in FILE, after SECONDS by force and with its
# process group, if it leads one, and waits until it is gone. 1 if it needed force.
# The signal is repeated: what is just being forked may miss it.
end() {
	pid=$(running "$1") || return 0
	forced=0
	tries=0
	while running "$1" >/dev/null; do
		if [ "$tries" -ge $(($2 * 20)) ]; then
			forced=1
			kill -KILL "-$pid" 2>/dev/null || kill -KILL "$pid" 2>/dev/null
			[ "$tries" -lt $(($2 * 20 + 1200)) ] || die "process $pid of $dir cannot be ended"
		elif [ $((tries % 20)) = 0 ]; then
			kill -TERM "$pid" 2>/dev/null
		fi
		tries=$((tries + 1))
		nap 0.05
	done
	return "$forced"
}

down() {
	[ -d "$dir" ] || return 0
	[ -e "$dir/.machine" ] || rmdir "$dir" 2>/dev/null || die "$dir is no machine: nothing was touched"
	[ -d "$dir" ] || return 0
	# The supervisor passes SIGTERM on and ends after its etcd or its join
	# script. If that takes too long it is killed together with them, which have
	# then had their time.
	grace=$stop_seconds
	end "$dir/supervisor.pid" "$grace" || grace=0
	if running "$dir/etcd.pid" >/dev/null || { [ "$grace" = 0 ] && [ -e "$dir/etcd.pid" ]; }; then
		end "$dir/etcd.pid" "$grace" && [ "$grace" != 0 ] || printf 'machine.sh: the etcd of %s had to be killed\n' "$dir" >&2
		event "exit killed"
	fi
	rm -rf "$dir"
}

status() {
	supervisor=$(running "$dir/supervisor.pid") || supervisor=
	etcd=$(running "$dir/etcd.pid") || etcd=
	if [ -n "$etcd" ]; then
		printf '%s: etcd runs (pid %s, supervisor %s)\n' "$name" "$etcd" "${supervisor:-none}"
	elif [ -n "$supervisor" ]; then
		printf '%s: waiting, no etcd at the moment (supervisor %s)\n' "$name" "$supervisor"
		return 1
	elif [ -e "$dir/never" ]; then
		printf '%s: stopped for good by the join script\n' "$name"
		return 2
	else
		printf '%s: not up\n' "$name"
		return 3
	fi
}

usage='usage: machine.sh new|up|down|status DIR'
[ $# = 2 ] || die "$usage"
[ -n "$2" ] || die "$usage"
case $0 in */*) self=$(cd "$(dirname "$0")" && pwd)/${0##*/} ;; *) self=$(command -v "$0") || self=$PWD/$0 ;; esac
case $2 in /*) dir=$2 ;; *) dir=$PWD/$2 ;; esac
dir=${dir%/}
[ -n "$dir" ] || die "/ is no machine"
name=${dir##*/}
events=${MACHINE_EVENTS:-}
[ -n "$events" ] || { [ -r "$dir/.events" ] && read -r events <"$dir/.events"; } || events=$dir.events
case $events in /*) ;; *) events=$PWD/$events ;; esac
case $1 in
new | up | down | status | supervise) "$1" ;;
*) die "$usage" ;;
esac
