# SPDX-License-Identifier: MPL-2.0
#
# The registry of a discovery: what static.sh, in its place, is without. It says what
# the functions are for that both have.

find_registry() {
	registry=
	id=
	if [ "$founder" = 1 ]; then
		if [ -n "${ETCD_DISCOVERY_TOKEN:-}" ] && [ -n "${ETCD_DISCOVERY_ENDPOINTS:-}" ]; then
			bootstrap=v3
			# The others start with what it registers: one bad URL would stop them all.
			awk 'BEGIN { exit "," ENVIRON["OWN_RAW"] !~ /^(,https?:\/\/([A-Za-z0-9._-]+|\[[0-9A-Za-z:.%]+\]):[0-9]+)+$/ }' ||
				never "ETCD_INITIAL_ADVERTISE_PEER_URLS is not a list of URLs with a port: $OWN_RAW"
			# The ID that etcd computes, and registers under.
			id=$(printf '%s' "$(printf '%s' "$OWN" | tr -d ,)$ETCD_DISCOVERY_TOKEN" | sha1sum 2>/dev/null)
			id=$(printf '%.16s\n' "$id" | sed 's/^0*//')
			[ -n "$id" ] || later "sha1sum is not on PATH"
			mark=etcd-join-$id
		elif [ -n "${ETCD_DISCOVERY:-}" ]; then
			bootstrap=v2
		fi
	elif [ -n "$kept" ]; then
		:
	elif [ -n "${ETCD_JOIN_DISCOVERY_TOKEN:-}" ] && [ -n "${ETCD_JOIN_DISCOVERY_ENDPOINTS:-}" ]; then
		bootstrap=v3 ETCD_DISCOVERY_TOKEN=$ETCD_JOIN_DISCOVERY_TOKEN ETCD_DISCOVERY_ENDPOINTS=$ETCD_JOIN_DISCOVERY_ENDPOINTS
	elif [ -n "${ETCD_JOIN_DISCOVERY:-}" ]; then
		bootstrap=v2 ETCD_DISCOVERY=$ETCD_JOIN_DISCOVERY
	fi
}

# The registry of a founder. Sets registry to
#   silent       it does not answer
#   unknown      it does not know the token
#   open         fewer members than its size have registered
#   full         they have, so the cluster may have formed; first is their
#                initial cluster
# and registered to 1 if this member is among the first, and why to a sentence.
why=
first=
registered=0
size=0

line() { printf '%s\n' "$answer" | sed -n "$1p"; }

# One answer of a registry, as: state, registered, size, initial cluster. MODE
# is v3 (one range over the token), or v2 (the directory; the size is in SIZE).
registrations='
function unbase64(s,   i, c, bits, n, unit, v) {
	v = ""
	n = bits = 0
	for (i = 1; i <= length(s); i++) {
		c = index("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", substr(s, i, 1))
		if (!c) break
		bits = bits * 64 + c - 1
		n += 6
		if (n >= 8) {
			# Not 2 ^ n: busybox may come without its mathematics.
			n -= 8
			unit = n == 4 ? 16 : n == 2 ? 4 : 1
			c = int(bits / unit)
			bits -= c * unit
			v = v sprintf("%c", c)
		}
	}
	return v
}
function give_up(state, reason) { print state; print 0; print 0; print reason; done = 1; exit }
END {
	if (done) exit
	v3 = ENVIRON["MODE"] == "v3"
	if (!parse() || code != 200) {
		reason = V[".error"] V[".message"]
		if (text ~ /^CommonName /) reason = "its HTTP gateway refuses a client certificate with a common name. Install etcdctl"
		if (reason !~ /^[A-Za-z0-9 ,:._-]+$/) reason = "no answer of a discovery cluster"
		# 400 and 404: a v2 registry or service that does not know the token.
		give_up(!v3 && (code == 400 || code == 404) ? "unknown" : "silent", (code ? "HTTP status " code ", " : "") reason)
	}
	size = ENVIRON["SIZE"]
	for (i = 1; ; i++) {
		if (v3) {
			if (!((".kvs." i ".key") in V)) break
			key = unbase64(V[".kvs." i ".key"])
			value = unbase64(V[".kvs." i ".value"])
			order = V[".kvs." i ".create_revision"]
			if (key ~ /\/_config\/size$/) { size = value; continue }
			if (key !~ /\/members\/[^\/]+$/) continue
		} else {
			if (!((".node.nodes." i ".key") in V)) break
			value = V[".node.nodes." i ".value"]
			order = V[".node.nodes." i ".createdIndex"]
		}
		n++
		for (j = n; j > 1 && at[j - 1] > order + 0; j--) { at[j] = at[j - 1]; entry[j] = entry[j - 1] }
		at[j] = order + 0
		entry[j] = value
	}
	if (size !~ /^[0-9]+$/ || size + 0 < 1) give_up("unknown", "the discovery cluster does not have it, or no size for it")
	for (i = 1; i <= n && i <= size + 0; i++) {
		k = split(entry[i], a, ",")
		mine = ""
		for (j = 1; j <= k; j++) {
			eq = index(a[j], "=")
			label = substr(a[j], 1, eq - 1)
			u = substr(a[j], eq + 1)
			if (!plain(u)) give_up("unknown", "a registration cannot be read")
			if (label !~ /^[A-Za-z0-9._:@%+~-]+$/) label = "member-" i
			if ((label in owner) && owner[label] != i) give_up("unknown", "two initial members have the name " label)
			owner[label] = i
			mine = mine (j > 1 ? "," : "") u
			list = list sep label "=" u
			sep = ","
		}
		if (sorted(mine) == ENVIRON["OWN"]) registered = 1
	}
	print (n + 0 >= size + 0 ? "full" : "open")
	print registered + 0
	print size + 0
	print list
}'

# post PATH JSON: asks the HTTP gateway. What may be secret reaches curl by its
# standard input, and never stands in a process list.
post() {
	set -- "$2" -K - "$at/v3/$1"
	[ -z "${ETCD_DISCOVERY_CACERT:-}" ] || set -- "$@" --cacert "$ETCD_DISCOVERY_CACERT"
	[ -z "${ETCD_DISCOVERY_CERT:-}" ] || set -- "$@" --cert "$ETCD_DISCOVERY_CERT" --key "${ETCD_DISCOVERY_KEY:-}"
	[ "${ETCD_DISCOVERY_INSECURE_SKIP_TLS_VERIFY:-}" != true ] || set -- "$@" -k
	json_body=$(quoted "$1")
	shift
	printf 'data = "%s"\n%s\n' "$json_body" "$header" | fetch "$@"
}

# Asks over gRPC, with the arguments and $input, and answers as the gateway does.
over_grpc() {
	printf '%s\n\n\n' "$input" | ETCDCTL_API=3 ETCDCTL_ENDPOINTS=$at ETCDCTL_USER=$user ETCDCTL_PASSWORD=$password \
		ETCDCTL_CACERT=${ETCD_DISCOVERY_CACERT:-} ETCDCTL_CERT=${ETCD_DISCOVERY_CERT:-} ETCDCTL_KEY=${ETCD_DISCOVERY_KEY:-} \
		ETCDCTL_INSECURE_SKIP_TLS_VERIFY=${ETCD_DISCOVERY_INSECURE_SKIP_TLS_VERIFY:-} \
		"$etcdctl" -w json "$@" 2>&1 | awk '
		/^[{]"header"/ { print "HTTP/1.1 200\n\n" $0; exit }
		sub(/^Error: /, "") { gsub(/[^A-Za-z0-9 ,:._-]/, ""); print "HTTP/1.1\n\n{\"error\":\"etcdctl: " $0 "\"}"; exit }'
}

read_v3() { MODE=v3 SIZE='' awk "$sorted$json$registrations"; }

base64_of() { printf '%s' "$1" | base64 | tr -d '\n'; }

# at_v3 PATH JSON ARGUMENT...: asks one endpoint after the other: its gateway, and
# if that refuses, etcdctl with the arguments.
at_v3() {
	path=$1 body=$2
	shift 2
	user=${ETCD_DISCOVERY_USER:-}
	password=${ETCD_DISCOVERY_PASSWORD:-}
	if [ -z "$password" ]; then
		case $user in *:*) password=${user#*:} user=${user%%:*} ;; esac
	fi
	etcdctl=$bin/etcdctl
	[ -x "$etcdctl" ] || etcdctl=$(command -v etcdctl)
	for at in $(printf '%s\n' "$ETCD_DISCOVERY_ENDPOINTS" | tr ',' ' '); do
		case $at in
		http://* | https://*) ;;
		*) if [ -n "${ETCD_DISCOVERY_CACERT:-}${ETCD_DISCOVERY_CERT:-}" ]; then at=https://$at; else at=http://$at; fi ;;
		esac
		at=${at%/}
		header=
		failed=1
		if [ -n "$user" ]; then
			answer=$(post auth/authenticate "{\"name\":\"$(quoted "$user")\",\"password\":\"$(quoted "$password")\"}") || continue
			token=$(printf '%s\n' "$answer" | awk "$json"'END { if (parse() && code == 200 && V[".token"] ~ /^[A-Za-z0-9._=-]+$/) print V[".token"] }')
			# A registry without authentication refuses to authenticate.
			[ -z "$token" ] || header="header = \"Authorization: $token\""
		fi
		answer=$(post "$path" "$body") || continue
		answer=$(printf '%s\n' "$answer" | read_v3)
		failed=0
		case $answer in silent*) ;; *) break ;; esac
		if [ -n "$etcdctl" ]; then
			refused=$answer
			answer=$(over_grpc "$@" | read_v3)
			case $answer in silent*) answer="$refused; $(line 4)" ;; *) break ;; esac
		fi
	done
	return "$failed"
}

ask_v3() {
	input=
	under=/_etcd/registry/$ETCD_DISCOVERY_TOKEN
	# The prefix and its end: "/" + 1 is "0".
	at_v3 kv/range "{\"key\":\"$(base64_of "$under/")\",\"range_end\":\"$(base64_of "${under}0")\"}" get --prefix "$under/"
}

# Registers this member as etcd 3.6 does, unless its key is there.
register() {
	key=$under/members/$id
	value=$(printf '%s\n' "$OWN_RAW" | tr ',' '\n' | sed "s/^/$name=/" | sort | tr '\n' ',')
	value=${value%,}
	input=$(printf 'create("%s") = "0"\n\nput -- %s %s' "$(quoted "$key")" "$key" "$value")
	key=$(base64_of "$key")
	at_v3 kv/txn "{\"compare\":[{\"key\":\"$key\",\"target\":\"CREATE\"}],\"success\":[{\"requestPut\":{\"key\":\"$key\",\"value\":\"$(base64_of "$value")\"}}]}" txn
	case $?/$answer in
	0/silent*) why_not="cannot register: $at: $(line 4)" ;;
	0/*) ;;
	*) why_not="cannot register: $at: $(problem)" ;;
	esac
}

ask_v2() {
	at=${ETCD_DISCOVERY%/}
	proxy=
	[ -z "${ETCD_DISCOVERY_PROXY:-}" ] || proxy="proxy = \"$(quoted "$ETCD_DISCOVERY_PROXY")\""
	answer=$({ url "$at/_config/size" && printf '%s\n' "$proxy"; } | fetch -K -) || return
	SIZE=$(printf '%s\n' "$answer" | awk "$json"'END { if (parse() && code == 200) print V[".node.value"] }')
	export SIZE
	answer=$({ url "$at" && printf '%s\n' "$proxy"; } | fetch -K -) || return
	answer=$(printf '%s\n' "$answer" | MODE=v2 awk "$sorted$json$registrations")
}

ask_registry() {
	# One that joins needs no registry once a peer has answered.
	case $bootstrap/$registry/$founder$heard in [!v]* | */full/* | */0?*) return ;; esac
	if "ask_$bootstrap"; then
		registry=$(line 1)
		first=$(line 4)
	else
		registry=silent
		first=$(problem)
	fi
	registered=$(line 2)
	size=$(line 3)
	case $registry in
	open) why="not all initial members have registered yet" ;;
	full)
		why="the token names no other initial member"
		set -- "$(printf '%s\n' "$first" | tr ',' '\n' | sed 's/^[^=]*=//')"
		peers=$(others "$peers" "$1") TOLD=$(others "$TOLD" "$1")
		;;
	unknown) why="the token cannot be used: $first" ;;
	*) registry=silent why="the discovery cluster does not answer: $at: $first" ;;
	esac
	[ "$registry" = full ] || pause=1
	targets=$peers
}

trust_registry() {
	# One that has not run and is among the first needs no word of its peers. While
	# the registry is open, those that wait for it accept connections and are silent.
	case $registry/$founder/$verdict in
	open/1/"wait a peer "*) verdict="silent $why_not" ;;
	full/*/"wait a peer "*) [ ! -d "$wal/$mark" ] || verdict="silent $why_not" ;;
	esac
	# Without a peer, the registry has the reason.
	case $founder$peers/$verdict in 0/"silent "*) verdict=wait why_not=$why ;; esac
}

found_in_registry() {
	case $bootstrap/$registry/$1 in
	v3/open/silent | v3/open/forming/1)
		# While the registry is open no member of it has started: a mark that is
		# made now tells later that this one has not.
		why_not="registered: waiting for the other initial members"
		if [ ! -d "$wal/$mark" ] && ! leave_mark; then
			why_not="cannot write to $wal: run this as the user of etcd"
		elif [ "$registered" = 0 ]; then
			# Before the registration: after a power cut it may have to tell.
			sync "$wal" 2>/dev/null
			version=$("$bin/etcd" --version 2>/dev/null | sed -n 's/^etcd Version: //p')
			# It may be anywhere, if the script need not start it.
			[ -e "$bin/etcd" ] || [ -n "${ETCD_JOIN_BIN:-}" ] || version=none
			case $version in
			# It registers itself, once it has found its settings to be right.
			3.[6-9]* | 3.[1-9][0-9]* | [4-9]*)
				mark_start
				exit 0
				;;
			'') why_not="$bin/etcd does not run" ;;
			*) register ;;
			esac
		fi
		;;
	v2/open/silent | v2/open/forming/1)
		# etcd would refuse with "duplicate id"; the cluster forms without it,
		# and then its place on the list is free for it to take.
		if [ "$registered" = 0 ]; then
			mark_start
			exit 0
		fi
		why_not="registered before: waiting for the other initial members"
		;;
	v?/full/*)
		if [ "$registered" = 0 ]; then
			why_not="the token is full and this member is not among its first $size"
		elif [ "$1" = forming/1 ] || { [ "$1" = silent ] && [ -d "$wal/$mark" ]; }; then
			# Without the registry, which can be used once, and not by every version.
			# What it stands for can be used again: the same members under the same
			# token have the same IDs, and etcd asks the others itself whether this
			# one has run.
			token=${ETCD_DISCOVERY_TOKEN:-}
			[ "$bootstrap" = v3 ] || token=$ETCD_DISCOVERY
			mark_start
			say "starting with the initial members of the token"
			start new "$first"
			printf 'ETCD_INITIAL_CLUSTER_TOKEN=%s\n' "$token"
			exit 0
		elif [ "$size" = 1 ]; then
			never "registered for a cluster of one and its data is gone from $data: replace the token, or restore a snapshot"
		else
			why_not="registered before, so this member may have run: waiting for another initial member"
		fi
		;;
	v?/unknown/* | v?/silent/*) why_not=$why ;;
	esac
}
