# SPDX-License-Identifier: MPL-2.0
#
# How etcd is started, what tells of it, and whether a founder may start it.

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

# A founder may start with its environment as it is. If that holds what an
# earlier run printed (an empty token tells), it is printed again.
start_founder() {
	begin
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
	[ "$1" != forming/0 ] || why_not="the peers do not list this member"
	case $bootstrap/$1 in
	# A moment may mislead (a member that starts has not read its log yet), so
	# all this must hold twice. Of a static cluster one member starts first, and
	# the others once they see it.
	static/forming/1) started_here || [ "$was" != "$1" ] || start_founder ;;
	static/silent)
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
	v?/*) found_in_registry "$1" ;;
	esac
}
