#!/bin/sh
# Gives the machines of one cluster a user of their own in the discovery cluster, whose
# role reads and writes the token of the cluster and nothing else, and removes it
# again:
#
#   cluster.sh allow USER TOKEN     before the machines start; CLUSTER_PASSWORD is set
#   cluster.sh forget USER          once the token is complete
#
# Asks the etcd that the ETCDCTL_* variables name, as root: ROOT_PASSWORD is set.
# It may be run again.
set -eu
etcdctl=${ETCDCTL:-etcdctl}
ctl() { "$etcdctl" --user="root:$ROOT_PASSWORD" "$@"; }
has() { ctl "$1" list | grep -qxF "$2"; }

user=$2
case $1 in
allow)
	has role "$user" || ctl role add "$user"
	ctl role grant-permission "$user" --prefix=true readwrite "/_etcd/registry/$3/"
	has user "$user" || printf '%s\n' "$CLUSTER_PASSWORD" | ctl user add "$user" --interactive=false
	ctl user grant-role "$user" "$user"
	;;
forget)
	! has user "$user" || ctl user delete "$user"
	! has role "$user" || ctl role delete "$user"
	;;
*) exit 64 ;;
esac
