// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// machines are the directories in which the processes of the example run.
type machines struct {
	script string
	dir    string
	ports  []int
}

// event is a start or an exit of an etcd, as the machines record it.
type event struct {
	at      time.Time
	machine string
	what    string // start, exit, never
	detail  string // the process ID of a start, otherwise an exit code
}

// events returns all events of all machines so far, in order.
func (m machines) events() ([]event, error) {
	text, err := os.ReadFile(m.dir + ".events")
	if err != nil {
		return nil, err
	}
	var all []event
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 4 {
			return nil, fmt.Errorf("%s.events: %q is no event", m.dir, line)
		}
		ms, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s.events: %w", m.dir, err)
		}
		all = append(all, event{time.UnixMilli(ms), fields[1], fields[2], fields[3]})
	}
	return all, nil
}

// pids returns the processes that were ever started: each etcd, and the current
// supervisors.
func (m machines) pids() []int {
	var pids []int
	add := func(text string) {
		if pid, err := strconv.Atoi(strings.TrimSpace(text)); err == nil {
			pids = append(pids, pid)
		}
	}
	events, err := m.events()
	if err != nil {
		return nil
	}
	for _, e := range events {
		if e.what == "start" {
			add(e.detail)
		}
	}
	files, _ := filepath.Glob(filepath.Join(m.dir, "*", "supervisor.pid"))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		first, _, _ := strings.Cut(string(text), "\n")
		add(first)
	}
	return pids
}

// down ends all processes of all directories and removes the directories.
func (m machines) down() error {
	dirs, err := os.ReadDir(m.dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	for _, dir := range dirs {
		// The context of the demo is already done when this matters most.
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		code, _, all, down := command{args: []string{"sh", m.script, "down", filepath.Join(m.dir, dir.Name())}}.run(ctx)
		cancel()
		if down == nil && code != 0 {
			down = fmt.Errorf("machine.sh down %s: exit code %d: %s", dir.Name(), code, all)
		}
		err = errors.Join(err, down)
	}
	return err
}

// nothingLeft returns an error if a process runs, a port is served or the
// directory exists.
func (m machines) nothingLeft(pids []int) error {
	for _, pid := range pids {
		if alive(pid) {
			return failed("After the destroy process %d runs.", pid)
		}
	}
	for _, port := range m.ports {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			conn.Close()
			return failed("After the destroy something listens at %s.", address)
		}
	}
	if _, err := os.Stat(m.dir); !errors.Is(err, fs.ErrNotExist) {
		return failed("After the destroy there is still the directory %s.", m.dir)
	}
	return nil
}

// logged is a line of an etcd log.
type logged struct {
	At      time.Time `json:"ts"`
	Message string    `json:"msg"`
	Removed string    `json:"removed-remote-peer-id"`

	machine string
}

// first returns the earliest matching line of all etcd logs.
func (m machines) first(match func(logged) bool) (logged, error) {
	var earliest logged
	files, err := filepath.Glob(filepath.Join(m.dir, "*", "etcd.log"))
	if err != nil {
		return earliest, err
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return earliest, err
		}
		for line := range bytes.Lines(text) {
			l := logged{machine: filepath.Base(filepath.Dir(path))}
			// The join script writes to the same file, but not JSON.
			if json.Unmarshal(line, &l) == nil && match(l) && (earliest.At.IsZero() || l.At.Before(earliest.At)) {
				earliest = l
			}
		}
	}
	return earliest, nil
}

// left returns the time at which the cluster removed the member.
func (m machines) left(name, id string) (time.Time, error) {
	line, err := m.first(func(l logged) bool { return l.Message == "removed member" && l.Removed == id })
	if err == nil && line.At.IsZero() {
		err = failed("No etcd has a record of the removal of %s (%s).", name, id)
	}
	return line.At, err
}

// led returns the first member that became leader after that time, and when.
func (m machines) led(after time.Time) (name string, at time.Time, err error) {
	line, err := m.first(func(l logged) bool {
		return l.At.After(after) && strings.Contains(l.Message, " became leader at term ")
	})
	if err == nil && line.At.IsZero() {
		err = failed("No etcd has a record of its becoming the leader.")
	}
	return line.machine, line.At, err
}

// ended returns when a process of a machine ended that was running at ranAt.
func (m machines) ended(name string, ranAt time.Time) (time.Time, error) {
	events, err := m.events()
	if err != nil {
		return time.Time{}, err
	}
	running := false
	for _, e := range events {
		if e.machine != name {
			continue
		}
		if !e.at.After(ranAt) {
			running = e.what == "start"
			continue
		}
		if running {
			return e.at, nil
		}
		break
	}
	return time.Time{}, failed("No process of %s ran at %s and has ended since.", name, clock(ranAt))
}

// clock formats a time of day for the output.
func clock(t time.Time) string { return t.Local().Format("15:04:05.000") }

// logs returns the last lines of the machines' logs, for a failure.
func (m machines) logs() []excerpt {
	var all []excerpt
	files, _ := filepath.Glob(filepath.Join(m.dir, "*", "etcd.log"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil && len(text) > 0 {
			all = append(all, excerpt{"machine " + filepath.Base(filepath.Dir(file)) + ": etcd.log", tail(string(text), 8)})
		}
	}
	return all
}
