// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build !unix

package etcdtest

import (
	"errors"
	"os"
	"os/exec"
)

// Without Unix signals a process can only be ended, and not be frozen.
var (
	signalTerminate os.Signal = os.Kill
	signalKill      os.Signal = os.Kill
	signalFreeze    os.Signal = unsupported("freeze")
	signalThaw      os.Signal = unsupported("thaw")
)

type unsupported string

func (u unsupported) String() string { return string(u) }
func (u unsupported) Signal()        {}

func signalGroup(process *os.Process, sig os.Signal) error {
	if _, bad := sig.(unsupported); bad {
		return errors.ErrUnsupported
	}
	return process.Signal(sig)
}

func prepareCommand(*exec.Cmd) {}
