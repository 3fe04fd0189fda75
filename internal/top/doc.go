// Package top shows on a terminal what the page of --listen shows: the workers,
// their vchannels, and of one vchannel the figure, segments and events.
package top
