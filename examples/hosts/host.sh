#!/bin/sh
# SPDX-License-Identifier: MPL-2.0
#
# What Terraform runs on a host, as root or through sudo.
#
#   host.sh up DIR RELEASE NODE REPLACED...   writes the files, brings the release to DIR
#                                             if there is no etcd, and starts etcd
#   etcd-host certificates FILES              writes the files
#   etcd-host down NODE                       stops etcd and renames its data
#
# Each can be repeated after an interruption. NODE is the ID of the node, and REPLACED are
# those that this name had before. The lines of a file are: path, mode, owner, the program
# that decodes the contents, and the contents in base64.
set -eu
umask 022
PATH=$PATH:/usr/sbin:/sbin

if [ "$(id -u)" != 0 ]; then
	exec sudo -n sh "$0" "$@"
fi

data=/var/lib/etcd
unit=/etc/systemd/system/etcd.service
record=/etc/etcd/node # whose data it is

fail() {
	echo "etcd-host: $1" >&2
	exit 1
}

# Each file appears whole, and never with other rights than its own.
write_files() {
	while read -r path mode owner decode content; do
		mkdir -p "${path%/*}"
		rm -f "$path.new"
		(umask 077 && printf %s "$content" | base64 -d | "$decode" >"$path.new")
		chown "$owner" "$path.new"
		chmod "$mode" "$path.new"
		mv -f "$path.new" "$path"
	done <"$1"
}

# Renames the data of an etcd that is stopped.
set_aside() {
	if [ -e "$data/member" ]; then
		kept=$data/removed-$(date -u +%Y%m%dT%H%M%SZ)
		mv "$data/member" "$kept"
		echo "etcd-host: etcd is stopped, and its data is in $kept"
	fi
}

up() {
	programs=$1 release=$2
	shift 2
	here=$(cat "$record" 2>/dev/null || :)
	case " $* " in
	*" ${here:-none} "*) ;;
	*)
		# Of another cluster, or of nobody that Terraform knows.
		[ ! -e "$data/member" ] || fail "$data has the data of another member. If nobody needs it: sudo systemctl disable --now etcd; sudo mv $data/member $data/removed-by-hand"
		! systemctl --quiet is-active etcd.service || fail "etcd.service runs already. If nobody needs it: sudo systemctl disable --now etcd"
		;;
	esac
	# A node that was rebuilt. Its old data stays: the join script renames it, once the
	# cluster says that its member was removed.
	[ "$here" = "$1" ] || [ ! -e "$unit" ] || systemctl disable --now etcd.service

	command -v curl >/dev/null || fail "curl is not installed"
	id etcd >/dev/null 2>&1 || useradd --system --user-group --home-dir "$data" --no-create-home --shell /usr/sbin/nologin etcd
	mkdir -p /etc/etcd "$programs"
	write_files "${0%/*}/files"
	# A restore begins without data. No cluster says that a member of the lost one was
	# removed, and with its data etcd would start as that member.
	if [ "$here" != "$1" ] && grep -q '^ETCD_JOIN_RESTORE=' /etc/etcd/etcd.env; then
		set_aside
	fi
	ETCD_JOIN_BIN=$programs ETCD_JOIN_RELEASE_URL=$release /usr/local/bin/etcd-join install ||
		fail "cannot download etcd from $release"
	cp "$0" /usr/local/sbin/etcd-host
	echo "$1" >"$record"
	rm -r "${0%/*}" # it had the private key
	systemctl daemon-reload
	systemctl enable --now --no-block etcd.service
	echo "etcd-host: etcd is started"
}

down() {
	if [ "$(cat "$record" 2>/dev/null)" != "$1" ]; then
		echo "etcd-host: there is no member of that node here"
		return
	fi
	[ ! -e "$unit" ] || systemctl disable --now etcd.service
	set_aside
	rm -rf "$unit" /etc/etcd/etcd.env /etc/etcd/tls /usr/local/bin/etcd-join "$record" "$0"
	systemctl daemon-reload
}

case $1 in
up) shift && up "$@" ;;
certificates)
	write_files "$2"
	rm -r "${2%/*}"
	;;
down) down "$2" ;;
*) fail "no command $1" ;;
esac
