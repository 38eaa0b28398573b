// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	clientv2 "go.etcd.io/etcd/client/v2"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// storeV2 are the keys of the v2 API: server/etcdserver/api/v2store. It has what the provider
// and members use.
type storeV2 struct {
	index  uint64
	nodes  map[string]*clientv2.Node // without the nodes below
	events []*clientv2.Response
}

// maxEvents is the size of the event history: newWatchHub, v2store/store.go.
const maxEvents = 1000

// newStoreV2 returns an empty store. The members were published in it, as the index shows.
func newStoreV2(members int) *storeV2 {
	return &storeV2{index: uint64(members) + 1, nodes: map[string]*clientv2.Node{"/": {Key: "/", Dir: true}}} //nolint:gosec // never negative
}

var messagesV2 = map[int]string{
	clientv2.ErrorCodeKeyNotFound: "Key not found", clientv2.ErrorCodeTestFailed: "Compare failed", clientv2.ErrorCodeNotFile: "Not a file",
	clientv2.ErrorCodeNotDir: "Not a directory", clientv2.ErrorCodeNodeExist: "Key already exists", clientv2.ErrorCodeRootROnly: "Root is read only",
	clientv2.ErrorCodeDirNotEmpty: "Directory not empty", clientv2.ErrorCodeRaftInternal: "Raft Internal Error",
	clientv2.ErrorCodeEventIndexCleared: "The event in requested index is outdated and cleared",
}

// statusV2 returns the HTTP status of an error: v2error/error.go.
func statusV2(code int) int {
	switch code {
	case clientv2.ErrorCodeKeyNotFound:
		return http.StatusNotFound
	case clientv2.ErrorCodeNotFile, clientv2.ErrorCodeDirNotEmpty:
		return http.StatusForbidden
	case clientv2.ErrorCodeTestFailed, clientv2.ErrorCodeNodeExist:
		return http.StatusPreconditionFailed
	case clientv2.ErrorCodeRaftInternal:
		return http.StatusInternalServerError
	}
	return http.StatusBadRequest
}

func (s *storeV2) refuse(code int, cause string) error {
	return clientv2.Error{Code: code, Message: messagesV2[code], Cause: cause, Index: s.index}
}

// find returns the node at a key, as a part of the store.
func (s *storeV2) find(key string) (*clientv2.Node, error) {
	n := s.nodes["/"]
	for at := range ancestors(key) {
		if !n.Dir {
			return nil, s.refuse(clientv2.ErrorCodeNotDir, n.Key)
		}
		if n = s.nodes[at]; n == nil {
			return nil, s.refuse(clientv2.ErrorCodeKeyNotFound, at)
		}
	}
	return n, nil
}

// ancestors yields the keys on the way to a key, and the key itself.
func ancestors(key string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for i := 1; i <= len(key) && key != "/"; i++ {
			if (i == len(key) || key[i] == '/') && !yield(key[:i]) {
				return
			}
		}
	}
}

// below returns the keys directly below a directory, in order. Hidden ones begin with "_".
func (s *storeV2) below(dir string, hidden bool) (keys []string) {
	for key := range s.nodes {
		if name := path.Base(key); key != "/" && path.Dir(key) == dir && (hidden || name[0] != '_') {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// shown returns a node as an answer has it, with the nodes below so many levels.
func (s *storeV2) shown(n *clientv2.Node, levels int) *clientv2.Node {
	out := *n
	if n.Expiration != nil {
		out.TTL = int64((time.Until(*n.Expiration) + time.Second - 1) / time.Second)
	}
	if n.Dir && levels > 0 {
		for _, key := range s.below(n.Key, false) {
			out.Nodes = append(out.Nodes, s.shown(s.nodes[key], levels-1))
		}
	}
	return &out
}

// read is Get, v2store/store.go.
func (s *storeV2) read(key string, form url.Values) (*clientv2.Response, error) {
	n, err := s.find(key)
	if err != nil {
		return nil, err
	}
	levels := 1
	if form.Get("recursive") == "true" {
		levels = 1 << 10
	}
	return &clientv2.Response{Action: "get", Node: s.shown(n, levels), Index: s.index}, nil
}

// writeV2 is a change of a key, with the time at which it will expire.
type writeV2 struct {
	method, key string
	form        url.Values
	expires     *time.Time
}

// write applies a change: applierV2store, server/etcdserver/apply_v2.go.
func (s *storeV2) write(w writeV2) (*clientv2.Response, error) {
	index, _ := strconv.ParseUint(w.form.Get("prevIndex"), 10, 64)
	value := w.form.Get("prevValue")
	compares := index > 0 || value != ""
	if w.key == "/" && !compares {
		return nil, s.refuse(clientv2.ErrorCodeRootROnly, "/")
	}
	switch {
	case compares:
		return s.compare(w, value, index)
	case w.method == http.MethodDelete:
		return s.remove(w.key, w.form.Get("dir") == "true", w.form.Get("recursive") == "true")
	case w.form.Get("prevExist") == "false":
		return s.create("create", w, false)
	}
	if _, err := s.find(w.key); err != nil && connection.CodeV2(err) != clientv2.ErrorCodeKeyNotFound {
		return nil, err
	}
	return s.create("set", w, true)
}

// create is internalCreate, v2store/store.go.
func (s *storeV2) create(action string, w writeV2, replace bool) (*clientv2.Response, error) {
	next := s.index + 1
	var missing []string
	for at := range ancestors(path.Dir(w.key)) {
		switch n := s.nodes[at]; {
		case n == nil:
			missing = append(missing, at)
		case !n.Dir:
			return nil, s.refuse(clientv2.ErrorCodeNotDir, at)
		}
	}
	var prev *clientv2.Node
	if was := s.nodes[w.key]; was != nil {
		switch {
		case !replace:
			return nil, s.refuse(clientv2.ErrorCodeNodeExist, w.key)
		case was.Dir:
			return nil, s.refuse(clientv2.ErrorCodeNotFile, w.key)
		}
		prev = s.shown(was, 0)
	}
	for _, at := range missing {
		s.nodes[at] = &clientv2.Node{Key: at, Dir: true, CreatedIndex: next, ModifiedIndex: next}
	}
	n := &clientv2.Node{Key: w.key, Value: w.form.Get("value"), CreatedIndex: next, ModifiedIndex: next, Expiration: w.expires}
	if n.Dir = w.form.Get("dir") == "true"; n.Dir {
		n.Value = ""
	}
	s.nodes[w.key] = n
	return s.emit(action, s.shown(n, 0), prev), nil
}

// compare is CompareAndSwap and CompareAndDelete, v2store/store.go.
func (s *storeV2) compare(w writeV2, value string, index uint64) (*clientv2.Response, error) {
	n, err := s.find(w.key)
	if err != nil {
		return nil, err
	}
	if n.Dir {
		return nil, s.refuse(clientv2.ErrorCodeNotFile, w.key)
	}
	var cause []string
	if value != "" && value != n.Value {
		cause = append(cause, fmt.Sprintf("[%s != %s]", value, n.Value))
	}
	if index != 0 && index != n.ModifiedIndex {
		cause = append(cause, fmt.Sprintf("[%d != %d]", index, n.ModifiedIndex))
	}
	if len(cause) > 0 {
		return nil, s.refuse(clientv2.ErrorCodeTestFailed, strings.Join(cause, " "))
	}
	prev := s.shown(n, 0)
	if w.method == http.MethodDelete {
		delete(s.nodes, w.key)
		return s.emit("compareAndDelete", &clientv2.Node{Key: w.key, CreatedIndex: n.CreatedIndex, ModifiedIndex: s.index + 1}, prev), nil
	}
	s.nodes[w.key] = &clientv2.Node{Key: w.key, Value: w.form.Get("value"), CreatedIndex: n.CreatedIndex, ModifiedIndex: s.index + 1, Expiration: w.expires}
	return s.emit("compareAndSwap", s.shown(s.nodes[w.key], 0), prev), nil
}

// remove is Delete, v2store/store.go.
func (s *storeV2) remove(key string, dir, recursive bool) (*clientv2.Response, error) {
	n, err := s.find(key)
	switch {
	case err != nil:
		return nil, err
	case n.Dir && !dir && !recursive:
		return nil, s.refuse(clientv2.ErrorCodeNotFile, key)
	case n.Dir && !recursive && len(s.below(key, true)) > 0:
		return nil, s.refuse(clientv2.ErrorCodeDirNotEmpty, key)
	}
	return s.drop("delete", n), nil
}

// drop deletes a node and what is below it.
func (s *storeV2) drop(action string, n *clientv2.Node) *clientv2.Response {
	prev := s.shown(n, 0)
	for key := range s.nodes {
		if key == n.Key || strings.HasPrefix(key, n.Key+"/") {
			delete(s.nodes, key)
		}
	}
	return s.emit(action, &clientv2.Node{Key: n.Key, Dir: n.Dir, CreatedIndex: n.CreatedIndex, ModifiedIndex: s.index + 1}, prev)
}

func (s *storeV2) emit(action string, n, prev *clientv2.Node) *clientv2.Response {
	s.index++
	e := &clientv2.Response{Action: action, Node: n, PrevNode: prev, Index: s.index}
	s.events = append(s.events, e)
	s.events = s.events[max(len(s.events)-maxEvents, 0):]
	return e
}

// expiring returns the nodes with a time to live, the first to expire first.
func (s *storeV2) expiring() (out []*clientv2.Node) {
	for _, n := range s.nodes {
		if n.Expiration != nil {
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b *clientv2.Node) int {
		return cmp.Or(a.Expiration.Compare(*b.Expiration), strings.Compare(a.Key, b.Key))
	})
	return out
}

// expire is DeleteExpiredKeys, v2store/store.go.
func (s *storeV2) expire(now time.Time) {
	for _, n := range s.expiring() {
		if s.nodes[n.Key] == n && !n.Expiration.After(now) {
			s.drop("expire", n)
		}
	}
}

// next returns the first event from an index on at a key, or below it: scan,
// v2store/event_history.go. It is nil if there is none yet.
func (s *storeV2) next(key string, recursive bool, index uint64) (*clientv2.Response, error) {
	if len(s.events) > 0 && index < s.events[0].Index {
		return nil, s.refuse(clientv2.ErrorCodeEventIndexCleared, fmt.Sprintf("the requested history has been cleared [%d/%d]", s.events[0].Index, index))
	}
	for _, e := range s.events {
		dropped := (e.Action == "delete" || e.Action == "expire") && e.PrevNode.Dir && strings.HasPrefix(key, e.Node.Key)
		if e.Index >= index && (e.Node.Key == key || dropped || recursive && strings.HasPrefix(e.Node.Key, strings.TrimSuffix(key, "/")+"/")) {
			return e, nil
		}
	}
	return nil, nil
}
