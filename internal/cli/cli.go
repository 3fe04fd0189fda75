// Package cli is the command line: one thin file a subcommand, and the
// configuration by flags, environment and a file, in this order of precedence.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// Process is what a command sees of the process it runs in.
type Process struct {
	Args    []string // without the program's name
	Environ []string // NAME=value
	Version string   // of the release, "" if it is none
	Stdout  io.Writer
	Stderr  io.Writer
	// Stop ends when the process is asked to end: drain. Kill ends when it is
	// asked again: leave everything. Kill's end is Stop's too.
	Stop, Kill context.Context
	// Patience is how long commands wait for a Kafka that does not answer; 0:
	// as long as suits a person. It is for tests.
	Patience time.Duration
}

// env is the value of a variable, "" where it is not set.
func env(environ []string, name string) string {
	for _, e := range environ {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value
		}
	}
	return ""
}

// Globals are the flags of every command.
type Globals struct {
	Config      string           `help:"YAML file with settings by the names of the flags without the dashes; or FLOWGRAPH_CONFIG." placeholder:"FILE" group:"General"`
	PrintConfig bool             `help:"Print the effective configuration as YAML, with secrets hidden, and end." group:"General"`
	Log         LogFlags         `embed:""`
	Version     kong.VersionFlag `help:"Print the version and end." group:"General"`
}

// commands is the command line. Adding a subcommand is a line here and a file.
type commands struct {
	Globals

	Run    RunCommand    `cmd:"" help:"Turn Kafka topics into segments of binlogs in a bucket, exactly once."`
	Dev    DevCommand    `cmd:"" help:"Serve an embedded Kafka and an embedded bucket until stopped."`
	Demo   DemoCommand   `cmd:"" help:"See it work: replay recorded Milvus traffic, kill the worker, check the bucket."`
	Record RecordCommand `cmd:"" help:"Write topics to a file."`
	Replay ReplayCommand `cmd:"" help:"Produce a recording to Kafka."`

	Top TopCommand `cmd:"" help:"Watch running workers on a terminal: what their page shows."`

	Flush  FlushCommand    `cmd:"" help:"Have a running worker write what it has buffered."`
	Seal   SealCommand     `cmd:"" help:"Have a running worker close its open segments; rows that come later go to others."`
	Pause  PauseCommand    `cmd:"" help:"Have a running worker read some partitions no further, until they are resumed."`
	Resume ResumeCommand   `cmd:"" help:"End a pause."`
	Level  LogLevelCommand `cmd:"" name:"log-level" help:"Show or change what a running worker logs."`

	Inspect     InspectCommand     `cmd:"" help:"Show what a bucket holds: vchannels, collections, segments."`
	Binlog      BinlogCommand      `cmd:"" help:"Print a binlog, from a file or from the bucket."`
	Export      ExportCommand      `cmd:"" help:"Write the live rows of a collection as Parquet, as of any moment."`
	Collections CollectionsCommand `cmd:"" help:"List the collections that a bucket holds, and from when to when each can be restored."`
	Restore     RestoreCommand     `cmd:"" help:"Bring a collection back into a running Milvus, as of any moment."`

	Verify    VerifyCommand    `cmd:"" help:"Compare a bucket with the logs: name every row that is lost, doubled or altered."`
	GC        GCCommand        `cmd:"" name:"gc" help:"Show or remove what killed workers left and nothing refers to."`
	Rewind    RewindCommand    `cmd:"" help:"Let a vchannel be read again from an earlier position."`
	AcceptLog AcceptLogCommand `cmd:"" name:"accept-log" help:"Go on with a log that is not the one it was: its topic was created anew, or it was cut back."`

	AcceptDocument AcceptDocumentCommand `cmd:"" name:"accept-document" help:"Go on from a checkpoint document that is older than the bucket around it: one put back, or in a copy."`

	Configuration ConfigCommand `cmd:"" name:"config" help:"Print all settings with their defaults, check them, or describe them to an editor."`

	Health     HealthCommand     `cmd:"" help:"Ask a worker on this machine whether it is well: exit code 0 if it is."`
	Completion CompletionCommand `cmd:"" help:"Print a script by which a shell completes this command line."`
	Man        ManCommand        `cmd:"" help:"Print the manual page."`
}

// Main parses the command line and runs the command. It has told the user
// about an error when it returns it; ExitCode turns it into the exit code.
func Main(p Process) error {
	err := dispatch(&p)
	if err == nil {
		return nil
	}
	fmt.Fprintf(p.Stderr, "flowgraph: %v\n", err)
	if errors.Is(err, ErrUsage) {
		fmt.Fprintf(p.Stderr, "Run \"flowgraph --help\" or \"flowgraph COMMAND --help\" for what is allowed.\n")
	}
	return err
}

func dispatch(p *Process) error {
	var c commands
	p.Stderr = withBottom(p.Stderr)
	answered := false // --help and --version have printed what was asked for
	parser, err := newParser(newSettings(p.Environ), &c, p, func(int) { answered = true })
	if err != nil {
		return err
	}
	ctx, err := parser.Parse(p.Args)
	if answered {
		return nil
	}
	if err != nil {
		return usageError{err}
	}
	if c.PrintConfig {
		return printConfig(p.Stdout, ctx)
	}
	log, level := newLogger(p.Stderr, c.Log)
	return ctx.Run(p, log, level, parser.Model)
}

func newParser(s *settings, c *commands, p *Process, exit func(int)) (*kong.Kong, error) {
	return kong.New(c,
		kong.Name("flowgraph"),
		kong.Description("Turns a Kafka log of Milvus messages into immutable segments of binlogs in a bucket, exactly once."+
			" Every flag can also be set in the environment, --s3-endpoint as FLOWGRAPH_S3_ENDPOINT,"+
			" a secret as the name of a file that holds it in FLOWGRAPH_S3_SECRET_KEY_FILE, or in the file of --config."),
		kong.Vars{"version": version(p.Version)},
		kong.Writers(p.Stdout, p.Stderr),
		kong.Exit(exit),
		kong.Resolvers(s),
		kong.ValueFormatter(helpText),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
	)
}

// version is the program's name and the version that a release was stamped with,
// else what the go command knows of the sources it was built from.
func version(release string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "flowgraph " + cmp.Or(release, "unknown")
	}
	v := []string{"flowgraph " + cmp.Or(release, info.Main.Version)}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" || (s.Key == "vcs.modified" && s.Value == "true") {
			v = append(v, s.Key[len("vcs."):]+" "+s.Value)
		}
	}
	return strings.Join(v, ", ")
}
