// Package reread holds what is made of files that may be replaced while the
// process runs: passwords, keys, certificates.
package reread

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Value is made of files and made again when they change. Files that cannot be
// used leave it as it was: what was valid a moment ago is the better guess.
type Value[T any] struct {
	paths []string
	parse func(files [][]byte) (T, error)
	told  func(error)

	mu    sync.Mutex
	value T
	seen  [][]byte // what value is made of
	bad   string   // the last complaint, so that it is told once
}

// New reads the files for the first time. Later told is called with nil when
// they have been replaced, and once with an error when they cannot be used. It
// must not call the value.
func New[T any](parse func(files [][]byte) (T, error), told func(error), paths ...string) (*Value[T], error) {
	v := &Value[T]{paths: paths, parse: parse, told: told}
	var err error
	if v.seen, err = v.read(); err != nil {
		return nil, err
	}
	if v.value, err = v.made(v.seen); err != nil {
		return nil, err
	}
	return v, nil
}

// Get reads the files, which are small, and returns what they make now. They
// are compared by their bytes: times and sizes can stay the same.
func (v *Value[T]) Get() T {
	v.mu.Lock()
	defer v.mu.Unlock()
	files, err := v.read()
	if err == nil && slices.EqualFunc(files, v.seen, bytes.Equal) {
		v.bad = ""
		return v.value
	}
	var made T
	if err == nil {
		made, err = v.made(files)
	}
	if err != nil {
		if v.bad != err.Error() {
			v.bad = err.Error()
			v.told(err)
		}
		return v.value
	}
	v.value, v.seen, v.bad = made, files, ""
	v.told(nil)
	return v.value
}

func (v *Value[T]) read() ([][]byte, error) {
	var files [][]byte
	for _, path := range v.paths {
		data, err := File(path)
		if err != nil {
			return nil, err
		}
		files = append(files, data)
	}
	return files, nil
}

func (v *Value[T]) made(files [][]byte) (T, error) {
	made, err := v.parse(files)
	if err != nil {
		return made, fmt.Errorf("%s: %w", strings.Join(v.paths, " and "), err)
	}
	return made, nil
}

// Text is a secret in a file, without the newline at its end.
func Text(path string, told func(error)) (*Value[string], error) {
	return New(func(files [][]byte) (string, error) {
		text := strings.TrimRight(string(files[0]), "\r\n")
		if text == "" {
			return "", errors.New("it is empty")
		}
		return text, nil
	}, told, path)
}

// KeyPair is a certificate and its private key, both in PEM form.
func KeyPair(certificate, key string, told func(error)) (*Value[*tls.Certificate], error) {
	return New(func(files [][]byte) (*tls.Certificate, error) {
		pair, err := tls.X509KeyPair(files[0], files[1])
		return &pair, err
	}, told, certificate, key)
}
