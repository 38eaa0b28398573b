#!/bin/sh
# Makes an etcd a discovery cluster in which machines can register and nothing else: a
# user whose role reads and writes below /_etcd/registry/, and no more. Asks the
# etcd that the ETCDCTL_* variables name; DISCOVERY_PASSWORD and ROOT_PASSWORD are
# set. It may be run again.
set -eu
etcdctl=${ETCDCTL:-etcdctl}

# Until authentication is on, no login is needed. Afterwards only root can do this.
if "$etcdctl" user list >/dev/null 2>&1; then
	login=
else
	login="--user=root:$ROOT_PASSWORD"
fi
ctl() { "$etcdctl" ${login:+"$login"} "$@"; }

has() { ctl "$1" list | grep -qx "$2"; }

has role discovery || ctl role add discovery
ctl role grant-permission discovery --prefix=true readwrite /_etcd/registry/
has user discovery || printf '%s\n' "$DISCOVERY_PASSWORD" | ctl user add discovery --interactive=false
ctl user grant-role discovery discovery
has user root || printf '%s\n' "$ROOT_PASSWORD" | ctl user add root --interactive=false
ctl user grant-role root root
[ -n "$login" ] || ctl auth enable
