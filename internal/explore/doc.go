// Package explore takes the real flow through every failure of everything
// that leaves the process. Text scripts (testdata/scripts) say what is in a log
// and what a worker does with it; the flow runs with a log and a bucket in
// memory, in virtual time. A first run counts every call; then the script runs
// again once for each call and each kind of failure, and what the bucket holds
// afterwards is compared with the log, row by row.
//
//	go test ./internal/explore                            all points of all scripts
//	go test ./internal/explore -args -sample 2000         so many of them, by -seed
//	go test ./internal/explore -run TestEveryCallFails -args -script a01 -call 'life 1 poll 0' -kind zombie
//	go test ./internal/explore -run TestRandomHistories -args -histories 100000 -seed 7
package explore
