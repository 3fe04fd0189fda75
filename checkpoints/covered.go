package checkpoints

// Covered is the position below which the document counts anything of its log
// as persisted: a log that ends before it, or has other records there, is not
// the one that was read. Its leader epoch is -1 where none is known: documents
// of earlier releases have no Reached, and an AutoEnd is an offset alone.
func (d *Document) Covered() Position {
	most := d.Seek.Later(d.Reached)
	for _, s := range d.Segments {
		most = most.Later(d.EndOf(s))
	}
	for _, c := range d.Collections {
		for _, p := range c.Partitions {
			most = most.Later(Position{Offset: max(p.AutoEnd, p.AutoEndDelete), LeaderEpoch: -1})
		}
	}
	return most
}
