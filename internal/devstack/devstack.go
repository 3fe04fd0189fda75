// Package devstack holds an embedded broker and an embedded bucket: what a
// flow needs besides itself, in one process, for dev, demo and tests.
package devstack
