package cli

import (
	"cmp"
	"errors"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
)

// faults are all sentences about what is wrong with a configuration.
type faults struct {
	sentences []string
	settings  map[string]bool // that have no usable value, by name
}

// add takes what is wrong with a setting, or with none that there is.
func (f *faults) add(setting string, err error) {
	if f.settings == nil {
		f.settings = map[string]bool{}
	}
	if setting != "" {
		f.settings[setting] = true
	}
	for _, sentence := range strings.Split(err.Error(), "\n") {
		if !slices.Contains(f.sentences, sentence) {
			f.sentences = append(f.sentences, sentence)
		}
	}
}

// inOrder are the sentences by the lines of the file that they are about, and
// behind them those about none.
func (f *faults) inOrder(file string) []string {
	line := func(sentence string) int {
		after, ok := strings.CutPrefix(sentence, file+" line ")
		number, _, _ := strings.Cut(after, ":")
		if n, err := strconv.Atoi(number); ok && err == nil {
			return n
		}
		return math.MaxInt
	}
	return slices.SortedStableFunc(slices.Values(f.sentences), func(a, b string) int { return cmp.Compare(line(a), line(b)) })
}

// gathered are the worker's settings as environment and file give them, with
// everything that is wrong with them.
type gathered struct {
	faults
	run  RunCommand
	from *settings
}

// gather reads environment and file, "" for the one that the environment
// names. A value that cannot be used is a fault, and its setting keeps its
// default.
func gather(p *Process, file string) (*gathered, error) {
	g := &gathered{from: newSettings(p.Environ)}
	g.from.faults = &g.faults
	var c commands
	parser, err := newParser(g.from, &c, p, func(int) {})
	if err != nil {
		return nil, err
	}
	args := []string{"run"}
	if file != "" {
		args = append(args, "--config", file)
	}
	ctx, err := kong.Trace(parser, args)
	if err != nil {
		return nil, err
	}
	// What Parse does, but for the validation: that ends at the first fault.
	if err := ctx.Reset(); err != nil {
		return nil, err
	}
	if err := g.from.Validate(parser.Model); err != nil {
		return nil, err
	}
	if err := ctx.Resolve(); err != nil {
		return nil, err
	}
	if _, err := ctx.Apply(); err != nil {
		return nil, err
	}
	g.run = c.Run
	g.others(parser.Model)
	if err := c.Run.Validate(); err != nil {
		g.contradictions(err)
	}
	return g, nil
}

// others looks at the settings of other commands, which stand in the same file.
func (g *gathered) others(app *kong.Application) {
	own, err := workerFlags(app)
	if err != nil {
		return
	}
	for _, flag := range allFlags(app.Node) {
		if !isSetting(flag) || slices.ContainsFunc(own, func(f *kong.Flag) bool { return f.Name == flag.Name }) {
			continue
		}
		o, ok, err := g.from.lookup(flag)
		if ok && err == nil {
			err = check(flag, o)
		}
		if err != nil {
			g.add(flag.Name, err)
		}
	}
}

var flagName = regexp.MustCompile(`--([a-z0-9-]+)`)

// contradictions takes what settings are to each other, with the lines in
// which they stand. What only follows from a fault that is told already is
// left out.
func (g *gathered) contradictions(err error) {
	for _, sentence := range strings.Split(err.Error(), "\n") {
		var places []string
		follows := false
		for _, m := range flagName.FindAllStringSubmatch(sentence, -1) {
			follows = follows || g.settings[m[1]]
			if v, ok := g.from.file[m[1]]; ok && !slices.Contains(places, v.place) {
				places = append(places, v.place)
			}
		}
		if follows {
			continue
		}
		if len(places) > 0 {
			sentence = places[0] + ": " + sentence
		}
		g.add("", errors.New(sentence))
	}
}
