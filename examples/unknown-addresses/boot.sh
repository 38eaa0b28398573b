#!/bin/sh
# A machine that gets its addresses when it boots.
#
#   PORTS="23850 23851 ..." MACHINE_SH=machine.sh MACHINE_ENV=... MACHINE_JOIN=... boot.sh new DIR
#   MACHINE_SH=machine.sh boot.sh down DIR
#
# new   ends a machine that is there still, takes two of PORTS that no other
#       machine beside DIR has, adds the URLs that follow to the environment,
#       starts the machine, and writes what it chose to DIR.addresses.
# down  ends the machine, gives the ports back and removes DIR.addresses.
set -eu

command=$1
dir=$2
leases=${dir%/*}/leases
mkdir -p "$leases"

# Making a directory succeeds for one machine only.
lease() {
	for port in $PORTS; do
		if mkdir "$leases/$port" 2>/dev/null; then
			: >"$leases/$port/${dir##*/}"
			printf '%s' "$port"
			return
		fi
	done
	echo "boot.sh: all of PORTS are taken" >&2
	return 1
}

down() {
	sh "$MACHINE_SH" down "$dir"
	for port in "$leases"/*; do
		if [ -e "$port/${dir##*/}" ]; then
			rm -r "$port"
		fi
	done
	rm -f "$dir.addresses"
}

case $command in
new)
	down
	client=http://127.0.0.1:$(lease)
	peer=http://127.0.0.1:$(lease)
	MACHINE_ENV="$MACHINE_ENV
ETCD_LISTEN_CLIENT_URLS=$client
ETCD_ADVERTISE_CLIENT_URLS=$client
ETCD_LISTEN_PEER_URLS=$peer
ETCD_INITIAL_ADVERTISE_PEER_URLS=$peer"
	export MACHINE_ENV
	sh "$MACHINE_SH" new "$dir"
	printf '{"client_url":"%s","peer_url":"%s"}\n' "$client" "$peer" >"$dir.addresses"
	;;
down)
	down
	rmdir "$leases" 2>/dev/null || true
	;;
*)
	echo "usage: boot.sh new|down DIR" >&2
	exit 64
	;;
esac
