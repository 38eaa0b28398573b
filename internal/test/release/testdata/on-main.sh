#!/bin/sh
# Copyright (c) The terraform-provider-etcd Authors
# SPDX-License-Identifier: MPL-2.0
# shellcheck disable=SC2016,SC2103,SC2164 # bash -e runs it, and stand-ins are programs in single quotes

# The commit of a tag is on main, or nothing is built of it: the first command of the
# workflow looks.
first=$(sed -n 's/^      - run: //p' "$ROOT/.github/workflows/release.yml" | head -1)
case $first in *--is-ancestor*) ;; *) echo "the first command is $first" && exit 1 ;; esac
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
git init -q main
cd main
git config user.name a
git config user.email a@example.com
git config commit.gpgsign false
git checkout -q -b main
git commit -q --allow-empty -m one
git tag v1
git commit -q --allow-empty -m two
git checkout -q -b side
git commit -q --allow-empty -m three
git tag v2
git checkout -q main
cd ..
git clone -q main clone
cd clone
git checkout -q v1
(eval "$first") || { echo "v1 is refused" && exit 1; }
git checkout -q v2
if (eval "$first"); then echo "v2 is let through" && exit 1; fi
