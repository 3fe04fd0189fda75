package reread

import (
	"fmt"
	"io"
	"os"
)

// most is as large as a file of settings, keys or schemas may be: a path that
// leads to something else must not take all memory.
const most = 16 << 20

// File reads a whole file of at most 16 MiB.
func File(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && len(data) > most {
		err = fmt.Errorf("%s is larger than %d bytes: it is something else than settings, keys or schemas", path, most)
	}
	return data, err
}
