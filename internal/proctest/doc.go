// Package proctest tests the built worker as a process among others: killed,
// paused, stopped and joined by more of its kind, while producers write on,
// its broker and its store come and go. What the bucket holds afterwards is
// compared with the logs, row by row.
//
//	go test ./internal/proctest                      embedded broker and bucket
//	go test ./internal/proctest -stack real          Apache Kafka and MinIO
//	go test ./internal/proctest -kills 200 -seed 7   the long form, repeatable
//	go test ./internal/proctest -run Network -spells 200   a bad network for long
package proctest
