package cli

import (
	"io"
	"strconv"

	"github.com/alecthomas/kong"

	"flowgraph/internal/cli/manpage"
)

// ManCommand prints the manual page.
type ManCommand struct{}

// Run prints it as roff.
func (ManCommand) Run(p *Process, app *kong.Application) error {
	_, err := io.WriteString(p.Stdout, manpage.Write(app, manpage.Page{
		Version: version(p.Version),
		Sections: []manpage.Section{
			{Title: "ENVIRONMENT", Terms: []manpage.Term{
				{Name: "FLOWGRAPH_NAME", Meaning: "The setting --name of a command, in capitals and with underscores: FLOWGRAPH_S3_ENDPOINT is --s3-endpoint. A flag goes before it, it goes before the file of --config. A name that means nothing is refused."},
				{Name: "FLOWGRAPH_NAME_FILE", Meaning: "For a secret: the file that holds it. It is read again when it is replaced."},
				{Name: "GOMEMLIMIT", Meaning: "Bound of the heap, instead of the one that follows from --memory-budget."},
			}},
			{Title: "SIGNALS", Text: "SIGTERM and SIGINT end a worker by a drain: everything is flushed and committed within --grace-period. A second one ends it at once; nothing that is stored is lost or doubled by it."},
			{Title: "EXIT STATUS", Terms: exitCodes()},
		},
	}))
	return err
}

// exitCodes are the codes with which a command ends.
func exitCodes() []manpage.Term {
	return []manpage.Term{
		{Name: strconv.Itoa(ExitDone), Meaning: "Done."},
		{Name: strconv.Itoa(ExitFailed), Meaning: "Failed: the last line on stderr says of what; of verify, that something is wrong; of health, that the worker is not well."},
		{Name: strconv.Itoa(ExitUsage), Meaning: "Bad usage or configuration."},
		{Name: strconv.Itoa(ExitFenced), Meaning: "Ownership was lost too often, or to another worker of the same --instance-id."},
	}
}
