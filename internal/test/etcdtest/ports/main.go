// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Ports prints free ports of 127.0.0.1, as many as its argument says, and keeps them
// from other processes until its standard input ends. A script gives them to servers.
package main

import (
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "ports:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: ports NUMBER")
	}
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	ports, release, err := etcdtest.ReservePorts(n)
	if err != nil {
		return err
	}
	defer release()
	for _, port := range ports {
		fmt.Print(port, " ")
	}
	fmt.Println()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
