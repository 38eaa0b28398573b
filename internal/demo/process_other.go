// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build !unix

package main

import "os/exec"

// The machines of the example are shell scripts: there is no demo without a
// Unix. These let the package compile elsewhere.

func ownGroup(*exec.Cmd) {}

func endGroup(int) {}

func alive(int) bool { return false }
