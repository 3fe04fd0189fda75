package cli_test

import (
	"reflect"
	"regexp"
	"testing"

	"flowgraph/internal/cli"
)

func TestSizesAreWrittenAsTheyAreRead(t *testing.T) {
	for text, want := range map[string]struct {
		bytes int64
		text  string
	}{
		"0": {0, "0"}, "64MiB": {64 << 20, "64MiB"}, "1.5 GiB": {3 << 29, "1536MiB"}, "1GB": {1e9, "1GB"},
		"10b": {10, "10B"}, "1500B": {1500, "1500B"}, "2048kib": {2 << 20, "2MiB"},
	} {
		var s cli.Size
		if err := s.UnmarshalText([]byte(text)); err != nil || int64(s) != want.bytes || s.String() != want.text {
			t.Errorf("%q: %d bytes, written %s, %v; want %d, %s", text, s, s, err, want.bytes, want.text)
		}
	}
	for _, text := range []string{"", "MiB", "10", "10 Mb/s", "1e99GiB", "NaNMiB", "-1B", "9e18TiB", "1MiBB"} {
		var s cli.Size
		if err := s.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was taken for %s", text, s)
		}
	}
}

func TestTimesAreWrittenAsTheyAreRead(t *testing.T) {
	for text, want := range map[string]string{"500ms": "500ms", "10m": "10m", "1h30m": "1h30m", "30d": "720h", " 1d ": "24h", "0s": "0s"} {
		var d cli.Duration
		if err := d.UnmarshalText([]byte(text)); err != nil || d.String() != want {
			t.Errorf("%q: %s, %v; want %s", text, d, err, want)
		}
	}
	for _, text := range []string{"", "d", "10", "-1h", "-1d", "1.5d", "1d12h", "99999d", "ten"} {
		var d cli.Duration
		if err := d.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was taken for %s", text, d)
		}
	}
}

func TestTopicsSelectWholeNames(t *testing.T) {
	for _, c := range []struct {
		text     string
		match    []string
		pass     []string
		explicit map[string][]int32
	}{
		{"by-dev-rootcoord-dml_0", []string{"by-dev-rootcoord-dml_0"}, []string{"by-dev-rootcoord-dml_01", "xby-dev-rootcoord-dml_0"}, nil},
		{"a.b", []string{"a.b"}, []string{"axb"}, nil},
		{"/a.b/", []string{"a.b", "axb"}, []string{"xa.b", "a.bx"}, nil},
		{"a|b", []string{"a", "b"}, []string{"ab", "xa"}, nil},
		{"t_[0-9]{1,2}, /[(,]|c/,d", []string{"t_1", "t_12", "c", "d"}, []string{"t_123", "t_"}, nil},
		{"a:0,a:3,b:1", nil, []string{"a", "b"}, map[string][]int32{"a": {0, 3}, "b": {1}}},
	} {
		var topics cli.Topics
		if err := topics.UnmarshalText([]byte(c.text)); err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		matches := func(name string) bool {
			for _, e := range topics.Expressions() {
				if regexp.MustCompile(e).MatchString(name) {
					return true
				}
			}
			return false
		}
		for _, name := range c.match {
			if !matches(name) {
				t.Errorf("%s does not take %s", c.text, name)
			}
		}
		for _, name := range c.pass {
			if matches(name) {
				t.Errorf("%s takes %s", c.text, name)
			}
		}
		if !reflect.DeepEqual(topics.Partitions(), c.explicit) {
			t.Errorf("%s: explicit list %v", c.text, topics.Partitions())
		}
	}
	for _, text := range []string{"a:", "a:-1", "a:x", "a:0,a:0", "..", "a/b", "/a", "a b", ":1"} {
		var topics cli.Topics
		if err := topics.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestEndpointsNameHostAndTransport(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "http://h:9000": "http://h:9000", "https://h/": "https://h", "127.0.0.1:9000": "http://127.0.0.1:9000", "http://[::1]:9000": "http://[::1]:9000",
	} {
		var e cli.Endpoint
		if err := e.UnmarshalText([]byte(text)); err != nil || e.String() != want {
			t.Errorf("%q: %s, %v; want %s", text, e, err, want)
		}
	}
	for _, text := range []string{"s3.example.com", "ftp://h", "http://h/bucket", "http://h?x=1", "http://", "https://u@h"} {
		var e cli.Endpoint
		if err := e.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was taken for %s", text, e)
		}
	}
}
