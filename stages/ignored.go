package stages

// Ignored counts messages of known types that have no effect on rows, by the
// type's name. Most packs have none; the zero value is ready.
type Ignored map[string]int64

func (g *Ignored) note(name string) { g.put(name, 1) }

func (g *Ignored) put(name string, n int64) {
	if *g == nil {
		*g = Ignored{}
	}
	(*g)[name] += n
}

func (g *Ignored) add(o Ignored) {
	for name, n := range o {
		g.put(name, n)
	}
}

// Total is how many there are of all types.
func (g Ignored) Total() (n int64) {
	for _, of := range g {
		n += of
	}
	return n
}

// IgnoredControl counts what the coordinators write for each other.
const IgnoredControl = "control"

// walPassed are the types of WAL messages (messagespb.MessageType) that have no
// effect on rows, or none in this message: of an import, a snapshot that is
// restored or a load no row is in the log.
var walPassed = map[int]string{
	walManualFlush: "ManualFlush", 10: "CreateSegment", 11: "Import",
	walSchemaChange: "SchemaChange", walAlterCollection: "AlterCollection", 14: "AlterLoadConfig", 15: "DropLoadConfig",
	16: "CreateDatabase", 17: "AlterDatabase", 18: "DropDatabase", 19: "AlterAlias", 20: "DropAlias",
	21: "RestoreRBAC", 22: "AlterUser", 23: "DropUser", 24: "AlterRole", 25: "DropRole", 26: "AlterUserRole", 27: "DropUserRole",
	28: "AlterPrivilege", 29: "DropPrivilege", 30: "AlterPrivilegeGroup", 31: "DropPrivilegeGroup",
	32: "AlterResourceGroup", 33: "DropResourceGroup", 34: "CreateIndex", 35: "AlterIndex", 36: "DropIndex",
	39: "RestoreSnapshot", 40: "CreateSnapshot", 41: "DropSnapshot", 47: "AlterRLSMetadata", 48: "DropRLSMetadata",
	800: "AlterReplicateConfig",
}

// walNotFollowed are types that have an effect on rows which is not followed
// here: whoever restores has to know of them, so they are no messages to pass
// over.
var walNotFollowed = map[int]string{
	38:          "TruncateCollection: Milvus empties the collection, its rows stay in the archive",
	walAlterWAL: "AlterWAL: Milvus goes on in another log, which is not read here",
}
