package stages

// What the memory of small messages costs is waiting for it: the walk hops
// from field to field, which no processor foresees.
const (
	cacheLine  = 64
	prefetched = 4 << 10 // bytes of a value; of a large one the walk needs few
)

// prefetch reads the values of a batch from one end to the other, which the
// processor does foresee, so that they are in its cache when they are walked
// and copied. The sum is of no meaning: without one nothing would be read.
func prefetch(records []Record) (sum byte) {
	for i := range records {
		v := records[i].Value
		for at := 0; at < min(len(v), prefetched); at += cacheLine {
			sum += v[at]
		}
	}
	return sum
}
