package export

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// folder is a folder in the making: it gets its name when everything in it is
// whole.
type folder struct {
	name    string // in the end
	temp    string
	replace bool
	names   map[string]bool // of files, in lower case
}

// newFolder begins dir/name. It fails with ErrExists if that is there and is
// not to be replaced.
func newFolder(dir, name string, replace bool) (*folder, error) {
	f := &folder{name: filepath.Join(dir, fileName(name)), replace: replace, names: map[string]bool{}}
	if err := f.free(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp(dir, "."+filepath.Base(f.name)+".*")
	if err != nil {
		return nil, err
	}
	f.temp = temp
	if err := os.Chmod(temp, 0o755); err != nil {
		return nil, errors.Join(err, f.abort())
	}
	return f, nil
}

func (f *folder) free() error {
	_, err := os.Lstat(f.name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && f.replace {
		return nil
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("%s %w", f.name, ErrExists)
}

// create begins a file. A name that is taken, on file systems that do not
// tell upper from lower case too, gets the other one behind it.
func (f *folder) create(name, other string) (*os.File, error) {
	base := fileName(name)
	if base == "" || f.names[strings.ToLower(base)] {
		base = strings.TrimPrefix(base+"-"+other, "-")
	}
	f.names[strings.ToLower(base)] = true
	return os.OpenFile(filepath.Join(f.temp, base+".parquet"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
}

// commit gives the folder its name; what was there before goes away after.
func (f *folder) commit() error {
	if err := f.free(); err != nil {
		return err
	}
	old := f.temp + ".old"
	err := os.Rename(f.name, old)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(f.temp, f.name); err != nil {
		return errors.Join(err, undo(os.Rename(old, f.name)))
	}
	return os.RemoveAll(old)
}

// undo is nil where there was nothing to bring back.
func undo(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// abort removes what was written.
func (f *folder) abort() error { return os.RemoveAll(f.temp) }

// fileName is a name as a file may have it everywhere. Milvus' names are
// letters, digits, _ and $; what comes from a log is not trusted to be one.
func fileName(name string) string {
	var b strings.Builder
	for i, c := range []byte(name) {
		ok := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			c == '_' || c == '$' || c == '-' || c >= 0x80 || c == '.' && i > 0
		if ok {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
