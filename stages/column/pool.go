package column

import "sync"

// Page sizes: a column's page grows through the classes and is closed when
// the largest is full. One page becomes one Parquet data page.
const (
	minClass = 10 // 1 KiB
	maxClass = 20 // 1 MiB
	step     = 2  // classes differ by a factor of four
)

// MaxPage is the size of a full page in bytes. A single greater value gets a
// page of its own.
const MaxPage = 1 << maxClass

// Pool hands out page buffers and takes them back: fresh large buffers cost
// more than what is copied into them. The zero value is ready; it is safe for
// concurrent use and shared by all flows of a worker.
type Pool struct {
	classes [(maxClass-minClass)/step + 1]sync.Pool
}

// get returns an empty buffer with room for at least n bytes.
func (p *Pool) get(n int) []byte {
	if n > MaxPage {
		return make([]byte, 0, n)
	}
	class := 0
	for 1<<(minClass+step*class) < n {
		class++
	}
	if b, ok := p.classes[class].Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return make([]byte, 0, 1<<(minClass+step*class))
}

// put takes a buffer back; nobody may hold a view of it.
func (p *Pool) put(b []byte) {
	for class := range p.classes {
		if cap(b) == 1<<(minClass+step*class) {
			b = b[:0]
			p.classes[class].Put(&b)
			return
		}
	}
}
