#!/bin/sh
# SPDX-License-Identifier: MPL-2.0
#
# Tests machine.sh, which a shell runs: machine_test.sh CASE TMP SHELL [ARGUMENT]. TMP is an
# empty directory. A stand-in takes etcd's place: it appends its environment to env.txt in
# its directory, and stays. What is waited for has no limit here: the caller has one.
set -eu

case=$1 tmp=$2
shift 2
shell=$* dir="$tmp/node one" bin=$tmp/bin

fail() {
	printf '%s\n' "$*" >&2
	exit 1
}

# m COMMAND [ASSIGNMENT]...: runs machine.sh as Terraform's local-exec does, which waits for the
# end of the process and of its output. They are in code and out.
m() {
	command=$1 code=0
	shift
	# shellcheck disable=SC2086 # a shell and its argument
	out=$(env "ETCD_BIN=$bin/etcd" "ETCD_INHERITED=must not be seen" "$@" $shell machine.sh "$command" "$dir" 2>&1) || code=$?
}

# must CODE COMMAND [ASSIGNMENT]...
must() {
	want=$1
	shift
	m "$@"
	[ "$code" = "$want" ] || fail "$1: exit code $code, want $want: $out"
}

# says CODE TEXT COMMAND [ASSIGNMENT]...
says() {
	code=$1 text=$2
	shift 2
	must "$code" "$@"
	case $out in *"$text"*) ;; *) fail "$1 says \"$out\", want \"$text\"" ;; esac
}

pid() { sed -n 1p "$dir/$1" 2>/dev/null || :; }

# Waits for an etcd other than that with the pid $1.
runs() {
	until etcd=$(pid etcd.pid) && [ -n "$etcd" ] && [ "$etcd" != "$1" ]; do sleep 0.05; done
}

# A process that has ended and that nobody has waited for, as happens in containers without an
# init, is not alive.
alive() { kill -0 "$1" 2>/dev/null && ! grep -q ') Z ' "/proc/$1/stat" 2>/dev/null; }

ended() {
	while alive "$1"; do sleep 0.05; done
}

# Compares the words after the name of every event, and checks the times.
events() {
	got=
	while read -r ms rest; do
		case $ms in '' | *[!0-9]*) fail "event $ms $rest: no time" ;; esac
		age=$(($(date +%s) - ms / 1000))
		{ [ "$age" -ge -1 ] && [ "$age" -le 86400 ]; } || fail "event $ms $rest: the time is not in milliseconds"
		case $rest in "node one "*) ;; *) fail "event $rest does not name the machine" ;; esac
		got="$got${got:+, }${rest#node one }"
	done <"$dir.events"
	[ "$got" = "$1" ] || fail "the events are \"$got\", want \"$1\""
}

encoded() { gzip -c | base64; }

program() {
	cat >"$1"
	chmod 700 "$1"
}

# A machine that is up stays as it is, starts its etcd again after a crash, and says what
# runs. The clusters of README.md are machines with a real etcd.
case_runs() {
	must 0 up MACHINE_ENV=ETCD_NAME=a
	runs 0
	first=$etcd supervisor=$(pid supervisor.pid)
	says 0 "node one: etcd runs (pid " status
	must 0 up MACHINE_ENV=ETCD_NAME=a
	[ "$(pid etcd.pid) $(pid supervisor.pid)" = "$first $supervisor" ] || fail "a second up with the same contents restarted the machine"
	kill -KILL "$first"
	runs "$first"
	must 0 down
	[ ! -e "$dir" ] || fail "after down the directory is there"
	for process in "$etcd" "$supervisor"; do
		! alive "$process" || fail "after down process $process runs"
	done
	events "start $first, exit 137, start $etcd, exit 143"
	must 0 down
	[ -z "$out" ] || fail "down without a machine says $out"
	says 3 "node one: not up" status
}

# A machine that is created is new, also if the one before it has the same contents and was
# not taken down. One with other contents is new with up, too.
case_new() {
	ln -s etcd "$bin/etcdutl"
	must 0 up MACHINE_ENV=ETCD_NAME=a
	for again in up new; do
		runs 0
		first=$etcd
		mkdir -p "$dir/data/member"
		must 0 "$again" MACHINE_ENV=ETCD_NAME=b
		runs 0
		! alive "$first" || fail "$again: the machine that was replaced runs on"
		[ ! -e "$dir/data" ] || fail "$again: the new machine has the data of the one before"
	done
	[ -e "$dir/bin/etcdutl" ] || fail "the machine has no etcdutl"
}

# The join script decides; what it prints comes over what stands in etcd.env.
case_obeys() {
	join=$(encoded <<-'EOF'
		#!/bin/sh
		echo "run" >>runs.txt
		env | grep ^ETCD | sort >>seen.txt
		echo "a reason" >&2
		[ "$(grep -c run runs.txt)" -ge 3 ] || { echo ETCD_INITIAL_CLUSTER=wrong; exit 75; }
		echo ETCD_INITIAL_CLUSTER=right
		echo ETCD_DISCOVERY=
	EOF
	)
	# shellcheck disable=SC2016 # nothing of it is run
	must 0 up "MACHINE_JOIN=$join" 'MACHINE_ENV=# a comment

ETCD_NAME=a
ETCD_INITIAL_CLUSTER=frozen
ETCD_DISCOVERY=http://x
ETCD_QUOTED="two words"
ETCD_SINGLE='\''$(touch PWNED)'\''
ETCD_BARE=$(touch PWNED) `touch PWNED` \ " '\''
not an assignment
ETCD_EQ=a=b,c=d'
	until grep -qs -e -- "$dir/env.txt"; do sleep 0.05; done
	# shellcheck disable=SC2016
	printf '%s\n' 'ETCD_BARE=$(touch PWNED) `touch PWNED` \ " '\' "ETCD_DATA_DIR=$dir/data" ETCD_DISCOVERY= ETCD_EQ=a=b,c=d ETCD_INITIAL_CLUSTER=right \
		"ETCD_JOIN_BIN=$dir/bin" ETCD_NAME=a 'ETCD_QUOTED=two words' 'ETCD_SINGLE=$(touch PWNED)' "$dir" -- >"$tmp/want"
	diff "$tmp/want" "$dir/env.txt" || fail "etcd sees something else"
	for line in runs.txt:run seen.txt:ETCD_INITIAL_CLUSTER=frozen "etcd.log:a reason"; do
		[ "$(grep -cx "${line#*:}" "$dir/${line%%:*}")" = 3 ] || fail "${line%%:*} does not have \"${line#*:}\" three times"
	done
	[ ! -e "$dir/PWNED" ] || fail "a value of etcd.env was run"
	# shellcheck disable=SC2012
	case $(ls -l "$dir/etcd.env") in -rw-------*) ;; *) fail "etcd.env may be read by others" ;; esac
}

case_stays_down() {
	must 0 up MACHINE_ENV=ETCD_NAME=a "MACHINE_JOIN=$(echo "echo run >>runs.txt; exit 78" | encoded)"
	until m status && [ "$code" = 2 ]; do sleep 0.05; done
	sleep 1 # more than two retries
	[ "$(cat "$dir/runs.txt")" = run ] || fail "the join script ran more than once"
	says 2 "node one: stopped for good by the join script" status
	events "never 78"
	must 0 down
}

# A process that hangs is killed, after it has had its time: the 5 s of stop_seconds once, in
# naps of 0.05 s, and not again for etcd, which got its signal from the supervisor.
case_kills_what_hangs() {
	must 0 up MACHINE_ENV=ETCD_NAME=a
	runs 0
	# Not before it has become what it is to be: a shell that is stopped on its way there is
	# another story.
	until grep -qs "^sleep" "/proc/$etcd/cmdline"; do sleep 0.05; done
	kill -STOP "$etcd"
	until grep -q ') T ' "/proc/$etcd/stat"; do sleep 0.05; done
	mkdir "$tmp/shims"
	program "$tmp/shims/sleep" <<-EOF
		#!/bin/sh
		echo nap >>'$tmp/naps'
		PATH=\${PATH#*:}
		exec sleep "\$@"
	EOF
	says 0 "had to be killed" down "PATH=$tmp/shims:$PATH"
	n=$(grep -c nap "$tmp/naps")
	{ [ "$n" -ge 100 ] && [ "$n" -le 150 ]; } || fail "down waited $n times"
	ended "$etcd"
}

# A join script that SIGTERM does not end, as one that is just being forked may miss it, is
# killed with its supervisor.
case_kills_the_join_script() {
	join=$(encoded <<-'EOF'
		trap '' TERM
		echo $$ >join.pid.new
		mv join.pid.new join.pid
		while :; do sleep 0.1; done
	EOF
	)
	must 0 up MACHINE_ENV=ETCD_NAME=a "MACHINE_JOIN=$join"
	until [ -n "$(pid join.pid)" ]; do sleep 0.05; done
	script=$(pid join.pid)
	must 0 down
	[ -z "$out" ] || fail "down says $out"
	ended "$script"
}

# Without its supervisor etcd is still found; a process that only has the same pid is left
# alone, and so is a directory that is no machine.
case_ends_its_own_only() {
	must 0 up MACHINE_ENV=ETCD_NAME=a
	runs 0
	kill -KILL "$(pid supervisor.pid)"
	sleep 1000 &
	stranger=$!
	printf '%s\n1\n' "$stranger" >"$dir/supervisor.pid"
	must 0 down
	ended "$etcd"
	alive "$stranger" || fail "down ended a process that is not the machine's"
	kill "$stranger"
	mkdir "$tmp/other"
	: >"$tmp/other/kept"
	dir=$tmp/other
	says 64 "is no machine: nothing was touched" down
	[ -e "$tmp/other/kept" ] || fail "down removed what is no machine"
	dir="$tmp/node one"
}

case_says_what_is_missing() {
	says 64 "MACHINE_ENV is empty" up
	says 64 "no etcd: /no/such/etcd" up MACHINE_ENV=ETCD_NAME=a ETCD_BIN=/no/such/etcd
	says 64 "usage: machine.sh new|up|down|status DIR" reboot
	[ ! -e "$dir" ] || fail "a machine was made"
}

mkdir "$bin"
program "$bin/etcd" <<-'EOF'
	#!/bin/sh
	{ env | grep ^ETCD | sort; pwd; echo --; } >>env.txt
	exec sleep 1000
EOF
finish() {
	status=$?
	[ "$status" = 0 ] || cat "$dir/etcd.log" >&2 || :
	m down
	exit "$status"
}
trap finish EXIT
"case_$case"
