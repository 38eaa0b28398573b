#!/bin/sh
# Copyright (c) The terraform-provider-etcd Authors
# SPDX-License-Identifier: MPL-2.0
# shellcheck disable=SC2016,SC2103,SC2164 # bash -e runs it, and stand-ins are programs in single quotes

# Changelog fragments become the section of a release, sorted by kind.
mkdir .changes
cat >CHANGELOG.md <<'END'
# Changelog

## [Unreleased]

### Added

- Something old.

## [0.0.9] - 2026-01-01

### Fixed

- Something older.
END
printf 'A thing that was broken,\nexplained.\n' >.changes/fixed-a-thing.md
echo 'Another thing.' >.changes/added-another.md
echo 'What this is.' >.changes/README.md
export CHANGELOG_ROOT="$PWD"
[ "$("$ROOT/tools/changelog" check)" = "2 fragments" ]
"$ROOT/tools/changelog" release 0.1.0 2026-11-21
diff - CHANGELOG.md <<'END'
# Changelog

## [Unreleased]

## [0.1.0] - 2026-11-21

### Added

- Something old.
- Another thing.

### Fixed

- A thing that was broken,
  explained.

## [0.0.9] - 2026-01-01

### Fixed

- Something older.
END
[ "$(ls .changes)" = README.md ]
unset CHANGELOG_ROOT
"$ROOT/tools/changelog" check
