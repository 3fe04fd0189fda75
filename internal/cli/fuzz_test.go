package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Any file is a configuration or an error that names it.
func FuzzAnyFileAsAConfiguration(f *testing.F) {
	for _, seed := range []string{
		"group: g\nflush-age: 1m\n", "- a\n", "---\n", "---\n---\n", "&a [*a]\n", "group: &a [*a]\n", "group: *a\n", "group: !!binary x\n", "? {a: b}\n: c\n", "\xff\xfe", "group: [a, [b]]\n", "#",
	} {
		f.Add([]byte(seed))
	}
	known := []string{"group", "flush-age"}
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "c.yaml")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		values, errs := readConfigFile(path, known)
		if len(values) > len(known) {
			t.Errorf("%v", values)
		}
		for _, err := range errs {
			if err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("%v", err)
			}
		}
	})
}

// Any text is a schema file or an error; what is taken serves a flow.
func FuzzAnyFileAsSchemas(f *testing.F) {
	f.Add([]byte(`{"100":{"name":"c","fields":[{"fieldID":"100","name":"pk","isPrimaryKey":true,"dataType":"Int64"}]}}`))
	f.Add([]byte(`{"100":{"fields":[null]}}`))
	f.Add([]byte(`{"-1":{}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "s.json")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		schemas, err := readSchemas(path)
		for id, data := range schemas {
			if err == nil && (id <= 0 || len(data) == 0) {
				t.Errorf("collection %d has the schema %x", id, data)
			}
		}
	})
}

// Any text is a value, which is written as it is read, or an error.
func FuzzValues(f *testing.F) {
	for _, seed := range []string{"64MiB", "1e3KiB", "10m", "30d", "a,/b{1,2}/", "t:0,t:1", "https://h:1", "h:1", "2026-11-29T13:19:55.125Z", "470799717531648002", "a=b,c=d", "127.0.0.1:9090", "[::1]:1"} {
		f.Add(seed)
	}
	type value interface {
		UnmarshalText([]byte) error
		String() string
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, fresh := range []func() value{
			func() value { return new(Size) }, func() value { return new(Duration) }, func() value { return new(Topics) }, func() value { return new(Endpoint) },
			func() value { return new(Moment) }, func() value { return new(Extensions) }, func() value { return new(Brokers) },
		} {
			first, second := fresh(), fresh()
			if first.UnmarshalText([]byte(text)) != nil {
				continue
			}
			written := first.String()
			if written == "" {
				continue // nothing was given
			}
			if err := second.UnmarshalText([]byte(written)); err != nil {
				t.Errorf("%T %q is written %q, which cannot be read: %v", first, text, written, err)
				continue
			}
			if again := second.String(); again != written {
				t.Errorf("%T %q is written %q, and then %q", first, text, written, again)
			}
		}
	})
}
