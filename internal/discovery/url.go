// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"errors"
	"net/url"
	"path"
	"strings"
)

// Location is what a discovery URL says.
type Location struct {
	// Base is the URL of the v2 registry's server, or of the service.
	Base string
	// Prefix is the key that holds a v2 registry's tokens; empty with a service.
	Prefix string
	// Token is the token's name.
	Token string
}

// ParseURL reads a URL that members take as --discovery: of the v2 API, which
// shows by /v2/keys/ in it, or else of a service. Its errors complete the
// sentence "The URL …".
func ParseURL(raw string) (Location, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return Location{}, errors.New("is not a URL")
	}
	key, isV2 := strings.CutPrefix(u.Path, "/v2/keys/")
	if !isV2 {
		token, err := ServiceToken(raw)
		return Location{Base: strings.TrimSuffix(raw, "/"+token), Token: token}, err
	}
	prefix, token := path.Dir("/"+key), path.Base(key)
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return Location{}, errors.New("is not an http or https URL")
	case u.Host == "":
		return Location{}, errors.New("has no host")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return Location{}, errors.New("holds more than scheme, host and path")
	}
	if problem := PrefixProblem(prefix); problem != "" {
		return Location{}, errors.New("has a prefix that " + string(problem))
	}
	if problem := TokenProblem(token); problem != "" {
		return Location{}, errors.New("has a token that " + string(problem))
	}
	return Location{Base: u.Scheme + "://" + u.Host, Prefix: prefix, Token: token}, nil
}
