package cli

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"flowgraph/internal/reread"
)

const envPrefix = "FLOWGRAPH_"

// settings resolves what the command line leaves open: first from the
// environment, then from the file of --config.
type settings struct {
	env  map[string]string // variables that begin with FLOWGRAPH_
	file map[string]fileValue
	path string // of the file, "" for none
	read bool

	// faults, where it is given, takes what is wrong instead of the caller: all
	// of it is told at once, and what is right is used.
	faults *faults
	// idle: the commands about the configuration itself do not stumble over it.
	idle bool
}

// origin is a value and the words that say where it comes from.
type origin struct {
	value any // string, or secretFile
	from  string
}

func newSettings(environ []string) *settings {
	s := &settings{env: map[string]string{}}
	for _, e := range environ {
		if name, value, ok := strings.Cut(e, "="); ok && strings.HasPrefix(name, envPrefix) {
			s.env[name] = value
		}
	}
	return s
}

// Validate refuses names in environment and file that mean nothing, so that a
// misspelt setting is not silently without effect.
func (s *settings) Validate(app *kong.Application) error {
	if s.idle {
		return nil
	}
	var known []string
	secret := map[string]bool{}
	for _, f := range allFlags(app.Node) {
		known = append(known, envName(f.Name))
		if isSecret(f) {
			secret[envName(f.Name)+"_FILE"] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.env)) {
		if !slices.Contains(known, name) && !secret[name] && !isServiceLink(name) {
			err := fmt.Errorf("environment variable %s is unknown%s", name, suggestion(name, known))
			if s.faults == nil {
				return err
			}
			s.faults.add("", err)
		}
	}
	return nil
}

// isServiceLink tells the variables that Kubernetes sets in every container
// beside a service called flowgraph or flowgraph-something.
func isServiceLink(name string) bool {
	return regexp.MustCompile(`_(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_.*)?)?)$`).MatchString(name)
}

// Resolve returns the value of a flag that the command line does not give, nil
// where it is given nowhere.
func (s *settings) Resolve(ctx *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	s.idle = s.idle || s.faults == nil && isAboutConfig(ctx)
	if s.idle || !isSetting(flag) {
		return nil, nil
	}
	value, err := s.valueOf(ctx, flag)
	if err != nil && s.faults != nil {
		s.faults.add(flag.Name, err)
		return nil, nil
	}
	return value, err
}

func (s *settings) valueOf(ctx *kong.Context, flag *kong.Flag) (any, error) {
	if err := s.readFile(ctx); err != nil {
		return nil, err
	}
	o, ok, err := s.lookup(flag)
	if err != nil || !ok {
		return nil, err
	}
	if err := check(flag, o); err != nil {
		return nil, err
	}
	return o.value, nil
}

// where names what was looked at.
func (s *settings) where() string {
	if s.path == "" {
		return "the environment"
	}
	return s.path + " and the environment"
}

func (s *settings) lookup(flag *kong.Flag) (origin, bool, error) {
	name := envName(flag.Name)
	value, ok := s.env[name]
	if path, filed := s.env[name+"_FILE"]; filed && isSecret(flag) {
		if ok {
			return origin{}, false, fmt.Errorf("%s and %s_FILE are both set: keep one", name, name)
		}
		text, err := reread.File(path)
		if err != nil {
			return origin{}, false, fmt.Errorf("%s_FILE: %w", name, err)
		}
		return origin{secretFile{path, strings.TrimRight(string(text), "\r\n")}, name + "_FILE"}, true, nil
	}
	if ok {
		return origin{value, "environment variable " + name}, true, nil
	}
	if v, ok := s.file[flag.Name]; ok {
		return origin{v.text, fmt.Sprintf("%s: %q", v.place, flag.Name)}, true, nil
	}
	return origin{}, false, nil
}

// readFile reads the file of --config once, or of FLOWGRAPH_CONFIG.
func (s *settings) readFile(ctx *kong.Context) error {
	if s.read {
		return nil
	}
	s.read = true
	path := s.env[envName("config")]
	for _, f := range allFlags(ctx.Model.Node) {
		if f.Name != "config" {
			continue
		}
		if given, _ := ctx.FlagValue(f).(string); given != "" {
			path = given
		}
	}
	if s.path = path; path == "" {
		return nil
	}
	values, errs := readConfigFile(path, settingNames(ctx.Model))
	s.file = values
	if s.faults == nil && len(errs) > 0 {
		return fileFault{errs[0]}
	}
	for _, err := range errs {
		s.faults.add("", err)
	}
	return nil
}

// fileFault is what is wrong with the file itself. It is met while some flag is
// resolved, and is not that flag's.
type fileFault struct{ error }

// check decodes a value for the sake of an error that says where it stands.
func check(flag *kong.Flag, o origin) error {
	scratch := reflect.New(flag.Target.Type()).Elem()
	scan := kong.Scan().PushTyped(o.value, kong.FlagValueToken)
	if err := flag.Mapper.Decode(&kong.DecodeContext{Value: flag.Value, Scan: scan}, scratch); err != nil {
		return fmt.Errorf("%s: %w", o.from, err)
	}
	if flag.Enum != "" && !flag.EnumMap()[fmt.Sprint(scratch)] {
		return fmt.Errorf("%s must be one of \"%s\"", o.from, strings.Join(flag.EnumSlice(), `", "`))
	}
	return nil
}

// isSetting tells the flags that may stand in the file and the environment.
func isSetting(f *kong.Flag) bool {
	return !slices.Contains([]string{"help", "version", "config", "print-config", "connect"}, f.Name)
}

func settingNames(app *kong.Application) []string {
	var names []string
	for _, f := range allFlags(app.Node) {
		if isSetting(f) {
			names = append(names, f.Name)
		}
	}
	return names
}

// allFlags are the flags of every command, each once by name: one file may
// serve several commands, which take from it what they know.
func allFlags(node *kong.Node) []*kong.Flag {
	flags := slices.Clone(node.Flags)
	for _, child := range node.Children {
		flags = append(flags, allFlags(child)...)
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(flags, func(f *kong.Flag) bool {
		dup := seen[f.Name]
		seen[f.Name] = true
		return dup
	})
}

func envName(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// errNoValue: a key of the file without a value.
var errNoValue = errors.New("has no value: write one, or remove the key")
