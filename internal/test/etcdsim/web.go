// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	clientv2 "go.etcd.io/etcd/client/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Web implements [connection.World]. Processes serve /metrics and the v2 API, a [Service] its
// tokens.
func (r *Run) Web(address string) http.RoundTripper { return web{r, address} }

// web is the transport of one run's HTTP requests to one address.
type web struct {
	r       *Run
	address string
}

// page is an answer.
type page struct {
	status int
	header http.Header
	body   string
}

// RoundTrip implements [http.RoundTripper].
func (w web) RoundTrip(req *http.Request) (*http.Response, error) {
	n := w.r.n
	life, end := context.WithCancel(req.Context())
	defer end()
	if cancel := req.Cancel; cancel != nil { //nolint:staticcheck // it is how client/v2 ends a request
		go func() {
			select {
			case <-cancel:
				end()
			case <-life.Done():
			}
		}()
	}
	if err := req.ParseForm(); err != nil {
		return nil, err
	}
	call := Call{Run: w.r.name, Address: w.address, Method: strings.TrimSuffix(req.Method+" "+req.URL.Path+"?"+req.Form.Encode(), "?")}
	ctx, err := n.begin(life, call)
	var answer page
	if err == nil {
		n.mu.Lock()
		answer, err = n.page(ctx, call, req)
		n.mu.Unlock()
		if n.After != nil {
			err = n.After(ctx, call, nil, err)
		}
	}
	switch {
	case life.Err() != nil:
		return nil, life.Err()
	case err != nil:
		return nil, err
	}
	return &http.Response{
		StatusCode: answer.status, Status: fmt.Sprint(answer.status, " ", http.StatusText(answer.status)),
		Header: answer.header, Request: req, Body: io.NopCloser(strings.NewReader(answer.body)),
	}, nil
}

// page carries out a request. n.mu must be held.
func (n *Network) page(ctx context.Context, c Call, req *http.Request) (answer page, err error) {
	var p *Process
	if s := n.services[c.Address]; s != nil {
		if err = n.wait(ctx, nil, 0, nil, func() bool { return !n.silent(c.Run, c.Address) }); err == nil {
			answer = s.serve(req)
		}
	} else if address, ok := n.web(c.Address); !ok {
		answer = page{http.StatusNotFound, http.Header{}, "404 page not found\n"}
	} else if p, err = n.reach(ctx, c.Run, address); err == nil {
		answer, err = p.page(ctx, req)
	}
	// If the connection fell silent in the meantime, the answer is late.
	if lost := n.wait(ctx, p, 0, nil, func() bool { return (p == nil || !p.frozen) && !n.silent(c.Run, c.Address) }); lost != nil && err == nil {
		err = lost
	}
	return answer, err
}

// web returns the client URL of the process that serves HTTP at an address.
func (n *Network) web(address string) (client string, ok bool) {
	if n.HTTP == "" {
		return address, true
	}
	host, ok := strings.CutSuffix(address, ":"+n.HTTP)
	return host + ":2379", ok
}

const prefixV2 = "/v2/keys"

func (p *Process) page(ctx context.Context, req *http.Request) (page, error) {
	key, v2 := strings.CutPrefix(req.URL.Path, prefixV2)
	switch {
	case req.URL.Path == "/metrics":
		return page{http.StatusOK, http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}}, p.metrics()}, nil
	case !v2 || !p.c.n.V2 || p.Version.from36():
		return page{http.StatusNotFound, http.Header{}, "404 page not found\n"}, nil
	}
	event, err := p.keysV2(ctx, req, "/"+strings.Trim(key, "/"))
	refused, ok := errors.AsType[clientv2.Error](err)
	switch {
	case err == nil && req.Form.Get("wait") == "true":
		return encode(http.StatusOK, event.Index, event)
	case err == nil:
		return pageOf(event)
	case !ok && (ctx.Err() != nil || err == errGone): //nolint:errorlint // it is not wrapped
		return page{}, err
	case !ok:
		refused = clientv2.Error{Code: clientv2.ErrorCodeRaftInternal, Message: messagesV2[clientv2.ErrorCodeRaftInternal], Cause: status.Convert(err).Message()}
	}
	return encode(statusV2(refused.Code), refused.Index, refused)
}

func pageOf(e *clientv2.Response) (page, error) {
	code := http.StatusOK
	if e.Action == "create" || e.Action == "set" && e.PrevNode == nil {
		code = http.StatusCreated
	}
	return encode(code, e.Index, e)
}

func encode(code int, index uint64, v any) (page, error) {
	var b bytes.Buffer
	err := json.NewEncoder(&b).Encode(v)
	return page{code, http.Header{"Content-Type": {"application/json"}, "X-Etcd-Index": {strconv.FormatUint(index, 10)}}, b.String()}, err
}

// keysV2 serves the v2 API: keysHandler, server/etcdserver/api/v2http/client.go.
func (p *Process) keysV2(ctx context.Context, req *http.Request, key string) (event *clientv2.Response, err error) {
	form := req.Form
	switch {
	case req.Method == http.MethodPut, req.Method == http.MethodDelete:
		w := writeV2{method: req.Method, key: key, form: form}
		if ttl, err := strconv.Atoi(form.Get("ttl")); err == nil {
			w.expires = new(time.Now().UTC().Add(time.Duration(ttl) * time.Second))
		}
		_, err = p.propose(ctx, requestTimeout, func(s *state) (_ proto.Message, err error) {
			done, err := s.v2.write(w)
			if err == nil {
				event = done // the same on every process
			}
			return nil, err
		})
	case form.Get("wait") == "true":
		index, _ := strconv.ParseUint(form.Get("waitIndex"), 10, 64)
		if index == 0 {
			index = p.state.v2.index + 1
		}
		begin := p.state.v2.index
		var refused error
		err = p.c.n.wait(ctx, p, 0, nil, func() bool {
			event, refused = p.state.v2.next(key, form.Get("recursive") == "true", index)
			return event != nil || refused != nil
		})
		if event != nil {
			event = new(*event)
			event.Index = begin
		}
		err = errors.Join(err, refused)
	case req.Method == http.MethodGet:
		if form.Get("quorum") == "true" {
			err = p.confirm(ctx)
		}
		if err == nil {
			event, err = p.state.v2.read(key, form)
		}
	default:
		err = status.Error(codes.Unimplemented, req.Method)
	}
	return event, err
}

// settleV2 sets the timer for the key that expires first. The leader ends it: SYNC,
// server/etcdserver/server.go.
func (c *Cluster) settleV2() {
	if c.expiryV2 != nil {
		c.expiryV2.Stop()
		c.expiryV2 = nil
	}
	if c.leader == nil {
		return
	}
	for _, first := range c.leader.state.v2.expiring() {
		c.expiryV2 = time.AfterFunc(time.Until(*first.Expiration), func() {
			c.n.mu.Lock()
			defer c.n.mu.Unlock()
			now := time.Now()
			if c.leader != nil {
				c.tail = append(c.tail, &entry{apply: func(s *state) (proto.Message, error) {
					s.v2.expire(now)
					return nil, nil
				}})
			}
			c.settle()
		})
		return
	}
}

// Service is a discovery service with the protocol of discovery.etcd.io.
type Service struct {
	n       *Network
	address string
	keys    *storeV2
	minted  int
	failing int
}

// Service starts a discovery service at an address.
func (n *Network) Service(address string) *Service {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.services == nil {
		n.services = map[string]*Service{}
	}
	s := &Service{n: n, address: address, keys: newStoreV2(0)}
	n.services[address] = s
	return s
}

// Minted returns how many tokens the service has made.
func (s *Service) Minted() int {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	return s.minted
}

// Fail makes the service answer with an HTTP status, until it is 0.
func (s *Service) Fail(status int) {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	s.failing = status
}

// Put writes a key below a token, as a member does that registers, or as its size is
// changed. An empty value deletes the whole token.
func (s *Service) Put(token, name, value string) {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	s.put(token, name, value)
}

func (s *Service) put(token, name, value string) {
	if value == "" {
		_, _ = s.keys.remove("/"+token, true, true)
		return
	}
	_, _ = s.keys.create("set", writeV2{key: "/" + token + "/" + name, form: map[string][]string{"value": {value}}}, true)
}

// serve answers as discovery.etcd.io does: handlers of etcd-io/discoveryserver.
func (s *Service) serve(req *http.Request) page {
	text := http.Header{"Content-Type": {"text/plain; charset=utf-8"}}
	if s.failing != 0 {
		return page{s.failing, text, http.StatusText(s.failing)}
	}
	if req.URL.Path == "/new" {
		s.minted++
		token := strings.Repeat(fmt.Sprintf("%02x", s.minted), 16)
		s.put(token, "_config/size", req.Form.Get("size"))
		return page{http.StatusOK, text, s.address + "/" + token}
	}
	event, err := s.keys.read(req.URL.Path, nil)
	if err != nil {
		return page{http.StatusBadRequest, text, "unable to GET token\n"}
	}
	answer, _ := pageOf(event)
	return answer
}
