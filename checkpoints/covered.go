package checkpoints

// Covered is the offset below which the document knows of anything of its
// log: a log that ends before it is not the one that was read. Flushes of
// quiet segments may be far ahead of the seek position.
func (d *Document) Covered() int64 {
	most := max(d.ReadFrom.Offset, d.Seek.Offset)
	for _, s := range d.Segments {
		most = max(most, s.End.Offset)
	}
	for _, c := range d.Collections {
		for _, p := range c.Partitions {
			most = max(most, p.AutoEnd, p.AutoEndDelete)
		}
	}
	return most
}
