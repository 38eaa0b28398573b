# SPDX-License-Identifier: MPL-2.0
#
# For initial members that start with a snapshot. empty.sh, in its place, says what the
# functions are for that both have.

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
end_restore() {
	made=$data/member/restore.tmp
	log=$wal/restore.tmp
	[ ! -d "$made" ] || tidy
	[ ! -d "$made" ] || later "$made tells of a restore, and $wal is not the directory of its log: mount its disk"
}

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

begin() {
	if [ -n "${ETCD_JOIN_RESTORE:-}" ]; then restore; else mark_start; fi
}
