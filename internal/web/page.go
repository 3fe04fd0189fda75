package web

import (
	"embed"
	"io/fs"
	"net/http"
)

// files are the page: no framework, nothing from elsewhere.
//
//go:embed page
var files embed.FS

// policy lets the page load and ask nothing but this server, and run no code
// but its own file: what stands in a log or an error stays text.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// servePage answers / and the page's files.
func servePage(mux *http.ServeMux) {
	page, err := fs.Sub(files, "page")
	if err != nil {
		return // only a malformed path; the one above is not
	}
	serve := http.FileServerFS(page)
	show := func(rw http.ResponseWriter, r *http.Request) {
		h := rw.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("Cache-Control", "no-cache") // another release must not meet the files of this one
		serve.ServeHTTP(rw, r)
	}
	mux.HandleFunc("GET /{$}", show)
	for _, name := range []string{"page.css", "page.js", "control.js", "figure.js", "kit.js", "table.js", "icon.svg"} {
		mux.HandleFunc("GET /"+name, show)
	}
}
