#!/bin/sh
# Copyright (c) The terraform-provider-etcd Authors
# SPDX-License-Identifier: MPL-2.0

trap '' HUP INT TERM; cat >/dev/null
round=0
while [ "$round" -lt 600 ]; do
	round=$((round + 1))
	left=$(find /proc/[0-9]*/cwd -prune -lname "$1/*" 2>/dev/null)
	[ -n "$left" ] || break
	for cwd in $left; do
		process=${cwd%/cwd}
		kill -KILL "${process#/proc/}" 2>/dev/null
	done
	sleep 0.1
done
for dir in "$1"/machines/*/; do [ -d "$dir" ] && sh "$2" down "$dir" & done; wait
