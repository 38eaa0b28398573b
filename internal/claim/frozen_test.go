// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package claim_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// childVariable makes the test binary a process that holds a claim. Its value
// is the API and its endpoint.
const childVariable = "CLAIM_TEST_CHILD"

// child takes key and makes one step after the other, each after a check. It ends
// and prints the reason when the check fails, or ends when its standard input ends.
func child() int {
	api, endpoint, _ := strings.Cut(os.Getenv(childVariable), " ")
	s, closeAll := storeAt(api, []string{endpoint})
	defer closeAll()
	ctx := context.Background()
	c, err := claim.Start(ctx, s, realTime{}, claim.Options{Key: key, Value: "child", TTL: 4 * time.Second})
	if err != nil {
		fmt.Println("cannot start:", err)
		return 1
	}
	fmt.Println("started")
	for realTime.Sleep(realTime{}, ctx, 5*time.Millisecond) == nil {
		if err := c.Check(ctx); err != nil {
			fmt.Println("stopped before the next step:", err)
			fmt.Println("gave up:", c.Stop(ctx))
			return 0
		}
		fmt.Println("step")
	}
	return 1
}

// A process that is frozen for longer than the time to live detects the loss of
// its claim when it continues, makes no further step, and does not touch the
// claim of its successor.
func TestFrozenHolder(t *testing.T) {
	everyAPI(t, func(t *testing.T, b bench) {
		s := b.store(t)
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(etcdtest.WaitContext(t), self)
		cmd.Env = append(os.Environ(), childVariable+"="+b.api+" "+b.Endpoints()[0])
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		lines := make(chan string)
		go func() {
			defer close(lines)
			for scanner := bufio.NewScanner(out); scanner.Scan(); {
				lines <- scanner.Text()
			}
		}()
		if first := <-lines; first != "started" {
			t.Fatal(first)
		}
		for range 20 {
			if line := <-lines; line != "step" {
				t.Fatal(line)
			}
		}
		if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		etcdtest.Until(t, "the claim of the frozen process expires", func() bool {
			for { // steps from before the signal may arrive late
				select {
				case <-lines:
					continue
				case <-time.After(300 * time.Millisecond):
				}
				return value(t, s) == ""
			}
		})
		take(t, s, claim.Options{Value: "successor", TTL: 30 * time.Second})
		if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		var rest []string
		for line := range lines {
			rest = append(rest, line)
		}
		// A step may follow the signal if its check passed before.
		if len(rest) > 0 && rest[0] == "step" {
			rest = rest[1:]
		}
		why := `/running/web1 was lost, it is held by "successor" now`
		want := []string{"stopped before the next step: " + why, "gave up: " + why}
		if strings.Join(rest, "\n") != strings.Join(want, "\n") {
			t.Errorf("the woken process said\n%s\nwant\n%s", strings.Join(rest, "\n"), strings.Join(want, "\n"))
		}
		if got := value(t, s); got != "successor" {
			t.Errorf("at the key: %q", got)
		}
	})
}
