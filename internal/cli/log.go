package cli

import (
	"io"
	"time"

	"github.com/rs/zerolog"
)

// LogFlags say what is logged and how.
type LogFlags struct {
	LogLevel  string `help:"Least important level that is logged: ${enum}." enum:"debug,info,warn,error" default:"info" placeholder:"LEVEL" group:"General"`
	LogFormat string `help:"Form of the log: ${enum}; auto is console on a terminal, else json." enum:"auto,json,console" default:"auto" placeholder:"FORM" group:"General"`
}

func newLogger(w io.Writer, f LogFlags) zerolog.Logger {
	// The parser has checked the level.
	level, err := zerolog.ParseLevel(f.LogLevel)
	if err != nil {
		level = zerolog.InfoLevel
	}
	if f.LogFormat == "console" || (f.LogFormat == "auto" && isTerminal(w)) {
		w = zerolog.ConsoleWriter{Out: w, TimeFormat: time.TimeOnly, NoColor: !isTerminal(w)}
	}
	return zerolog.New(w).Level(level).With().Timestamp().Logger()
}
