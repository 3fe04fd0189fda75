// Package scale measures what one worker costs where there is much of
// something: partitions, segments, history, unpersisted bytes. Costs are CPU
// time, bytes, requests and memory of the worker's own process; a broker and a
// store that forgets binlogs run in the test's. Each test has a small form
// that asserts counts; -full is the one whose numbers docs/sizing.md has.
//
//	go test ./internal/scale                                   the small forms
//	go test -v -count=1 -timeout 30m ./internal/scale -full    all numbers
//	go test -v -count=1 ./internal/scale -run Idle -full -partitions 1000 -for 5m
package scale
