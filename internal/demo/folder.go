package demo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// mark is the file that tells the demo's folder from one that holds something
// that is not to be removed.
const mark = ".flowgraph-demo"

// ErrForeignFolder: the folder holds what no demo has put there.
var ErrForeignFolder = errors.New("the folder is not empty and not of an earlier demo")

// newFolder makes the demo's folder anew.
func newFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(entries) > 0 {
		if _, err := os.Lstat(filepath.Join(dir, mark)); err != nil {
			return fmt.Errorf("%s: %w: name another with --dir", dir, ErrForeignFolder)
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, mark), nil, 0o644)
}
