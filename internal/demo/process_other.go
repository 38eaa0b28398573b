// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build !unix

package main

import "os/exec"

// The machines of the example are shell scripts, so the demo requires Unix.
// These functions let the package compile on other systems.

func ownGroup(*exec.Cmd) {}

func endGroup(int) {}

func alive(int) bool { return false }
