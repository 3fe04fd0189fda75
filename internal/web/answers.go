package web

import (
	"time"

	"flowgraph/flows"
	"flowgraph/sinks"
)

// Overview is what /api/worker answers.
type Overview struct {
	At      time.Time          `json:"at"`
	Worker  flows.WorkerStatus `json:"worker"`
	Store   StoreStatus        `json:"store"`
	Totals  Totals             `json:"totals"`
	Control Permission         `json:"control"`
}

// OneVChannel is what /api/vchannels/NAME answers.
type OneVChannel struct {
	At       time.Time              `json:"at"`
	VChannel *flows.FlowStatus      `json:"vchannel"`
	Segments []*flows.SegmentStatus `json:"segments"`
	Total    int                    `json:"total"`
}

// SomeSegments are what /api/segments answers.
type SomeSegments struct {
	At       time.Time              `json:"at"`
	Segments []*flows.SegmentStatus `json:"segments"`
	Offset   int                    `json:"offset"`  // of the first in those that match
	Matched  int                    `json:"matched"` // of Total
	Total    int                    `json:"total"`
}

// Permission says whether this server changes anything when asked to.
type Permission struct {
	Allowed bool   `json:"allowed"`
	Why     string `json:"why,omitempty"` // not, as a sentence
}

// StoreStatus is how the worker stands with the object store.
type StoreStatus struct {
	Name    string     `json:"name"` // endpoint and bucket
	Waiting int        `json:"waiting_calls"`
	Since   *time.Time `json:"waiting_since,omitempty"` // of the longest wait
	Error   string     `json:"error,omitempty"`         // the store's last answer, or why there was none
	Code    string     `json:"code,omitempty"`
	Advice  string     `json:"advice,omitempty"`
}

func storeStatus(w sinks.Waiting) StoreStatus {
	s := StoreStatus{Name: w.Store, Waiting: w.Calls}
	if w.Calls > 0 {
		s.Since, s.Error, s.Code, s.Advice = &w.Since, w.Reason, w.Code, sinks.Advice(w.Code)
	}
	return s
}

// Totals sum up the vchannels.
type Totals struct {
	VChannels map[string]int `json:"vchannels"` // by state
	Segments  int            `json:"segments"`
	Lag       int64          `json:"lag"` // records between seek positions and the logs' ends
	Rows      int64          `json:"rows"`
	Bytes     int64          `json:"bytes"`
	Buffered  int64          `json:"buffered_bytes"`
	Flushing  int64          `json:"flushing_bytes"`
}
