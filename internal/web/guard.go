package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"strings"
)

// Access says who may ask.
type Access struct {
	// Token is what the API and the page ask for, as a bearer token or as the
	// password of any user; nil or "" for nothing.
	Token func() string
	// Metrics asks for it at /metrics too.
	Metrics bool
	// Names are hosts by which the server is asked, besides localhost and IP
	// addresses. Without a token other names are refused: a page elsewhere
	// could point its own name here and read through its visitor's browser.
	Names []string
	// TLS, if it is not nil, is what the server speaks.
	TLS *tls.Config
	// Loopback: only this machine reaches the server. Start finds it out.
	Loopback bool
}

// permission says whether those that are let through may change something.
func (a Access) permission() Permission {
	if a.token() == "" && !a.Loopback {
		return Permission{Why: "without a token nothing is changed by a worker that listens for other machines: set --listen-token, or listen on 127.0.0.1"}
	}
	return Permission{Allowed: true}
}

// guard lets through what may be answered.
func (a Access) guard(next http.Handler) http.Handler {
	// What changes something must come from our own page, or from no page.
	next = http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		if a.open(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		token := a.token()
		switch {
		case token == "" && !a.ours(r.Host):
			http.Error(w, "this worker is not known by that name: ask by IP address or localhost, name it in --listen-names, or protect it by --listen-token",
				http.StatusMisdirectedRequest)
		case token != "" && !presented(r, token):
			// Browsers ask their user for a name, which does not matter, and a password.
			h.Set("WWW-Authenticate", `Basic realm="flowgraph: any user, the token as password", charset="UTF-8"`)
			http.Error(w, "the token is missing or wrong: send it as Authorization: Bearer TOKEN, or as the password of any user", http.StatusUnauthorized)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (a Access) token() string {
	if a.Token == nil {
		return ""
	}
	return a.Token()
}

// open lists what is for probes, which neither log in nor know a name.
func (a Access) open(path string) bool {
	return path == "/healthz" || path == "/readyz" || path == "/metrics" && !a.Metrics
}

// ours says that a Host header cannot be the name of somebody else's page.
func (a Access) ours(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	return host == "localhost" || net.ParseIP(host) != nil || slices.ContainsFunc(a.Names, func(n string) bool { return strings.EqualFold(n, host) })
}

// presented compares hashes, so that neither the length nor the time tells
// anything of the token.
func presented(r *http.Request, token string) bool {
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		_, given, ok = r.BasicAuth()
	}
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(token))
	return ok && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// listener speaks TLS if that is asked for.
func (a Access) listener(l net.Listener) net.Listener {
	if a.TLS == nil {
		return l
	}
	return tls.NewListener(l, a.TLS)
}
