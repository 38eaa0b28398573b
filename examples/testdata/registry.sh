# The users of the discovery cluster of the example may register and nothing else: that of
# Terraform with every token, that of a cluster's machines with theirs, until it is removed.
# $REAL is etcdctl; calls of the example's scripts are logged.
cat >etcdctl <<END
#!/bin/sh
echo "\$*" >>'$PWD/log'
exec '$REAL' "\$@"
END
chmod +x etcdctl
export ETCDCTL="$PWD/etcdctl" ROOT_PASSWORD=all DISCOVERY_PASSWORD=register CLUSTER_PASSWORD=join no_proxy='*'
sh "$EXAMPLES/registry/secure.sh"
sh "$EXAMPLES/registry/cluster.sh" allow cluster-one TOKEN
registered=/_etcd/registry/TOKEN/members/1
"$REAL" --user=cluster-one:join put $registered a=http://127.0.0.1:1
"$REAL" --user=discovery:register get $registered

denied() {
	user=$1
	shift
	if "$REAL" "--user=$user" "$@" >out 2>&1; then exit 1; fi
	grep -E 'permission denied|authentication failed' out
}
denied discovery:register get /anything
denied discovery:register get --prefix /
denied discovery:register put /_etcd/anything x
denied discovery:register member add x --peer-urls=http://127.0.0.1:1
denied discovery:register user list
denied discovery:register auth disable
denied cluster-one:join get --prefix /_etcd/registry/
denied cluster-one:join put /_etcd/registry/another/members/1 x
denied cluster-one:join put /_etcd/registry/TOKENx/_config/size 9
denied discovery:wrong get $registered
sh "$EXAMPLES/registry/cluster.sh" forget cluster-one
if "$REAL" --user=cluster-one:join get $registered; then exit 1; fi

# The commands that make and remove the user of a cluster are those that the guide has.
sed -n '/^## Machines and the discovery cluster$/,/^## [^M]/s/^ *etcdctl //p' "$EXAMPLES/../templates/guides/certificates.md" | sort >guide
[ "$(wc -l <guide)" -eq 6 ]
sed -n 's/ --interactive=false//; s/^--user=root:all \([^ ]* .*\)$/\1/p' log | grep -v ' list$' | sort | diff - guide
