package stages

// Remember makes the filter forget after so many segments.
func (f *Filter) Remember(segments int) { f.remember = segments }
