package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// LogFlags say what is logged and how.
type LogFlags struct {
	LogLevel  string `help:"Least important level that is logged: ${enum}." enum:"debug,info,warn,error" default:"info" placeholder:"LEVEL" group:"General"`
	LogFormat string `help:"Form of the log: ${enum}; auto is console on a terminal, else json." enum:"auto,json,console" default:"auto" placeholder:"FORM" group:"General"`
}

// logLevel is the least important level that is logged, of all loggers that
// came from newLogger. It may be changed at any time.
type logLevel struct {
	now atomic.Int32 // a zerolog.Level
}

// Sample makes it a zerolog.Sampler: what is not logged is not even formatted.
func (l *logLevel) Sample(level zerolog.Level) bool { return level >= zerolog.Level(l.now.Load()) }

// Run makes it a zerolog.Hook, for loggers that sample by themselves.
func (l *logLevel) Run(e *zerolog.Event, level zerolog.Level, _ string) {
	if !l.Sample(level) {
		e.Discard()
	}
}

// Level names it as the flag does.
func (l *logLevel) Level() string { return zerolog.Level(l.now.Load()).String() }

// SetLevel takes what the flag takes.
func (l *logLevel) SetLevel(level string) error {
	if !slices.Contains(logLevels(), level) {
		return fmt.Errorf("%q is none of the levels %s", level, strings.Join(logLevels(), ", "))
	}
	parsed, err := zerolog.ParseLevel(level)
	if err != nil {
		return fmt.Errorf("level: %w", err)
	}
	l.now.Store(int32(parsed))
	return nil
}

func logLevels() []string { return []string{"debug", "info", "warn", "error"} }

func newLogger(w io.Writer, f LogFlags) (zerolog.Logger, *logLevel) {
	level := &logLevel{}
	if err := level.SetLevel(f.LogLevel); err != nil { // the parser has checked it
		level.now.Store(int32(zerolog.InfoLevel))
	}
	if f.LogFormat == "console" || (f.LogFormat == "auto" && isTerminal(w)) {
		w = zerolog.ConsoleWriter{Out: w, TimeFormat: time.TimeOnly, NoColor: !isTerminal(w)}
	}
	return zerolog.New(w).Level(zerolog.DebugLevel).Sample(level).Hook(level).With().Timestamp().Logger(), level
}
