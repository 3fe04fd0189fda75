package cli

import "flowgraph/internal/milvus"

// MilvusFlags say how to log in to a Milvus.
type MilvusFlags struct {
	MilvusToken    Secret `help:"API key, or user:password, to log in to Milvus with." placeholder:"TOKEN" group:"Milvus"`
	MilvusUser     string `help:"User to log in to Milvus as, instead of a token." placeholder:"NAME" group:"Milvus"`
	MilvusPassword Secret `help:"Password of that user." placeholder:"PASSWORD" group:"Milvus"`
	MilvusTLS      bool   `name:"milvus-tls" help:"Speak TLS with Milvus." group:"Milvus"`
	MilvusCAFile   string `name:"milvus-ca-file" help:"PEM file of certificates to trust besides the system's when speaking TLS with Milvus." placeholder:"FILE" group:"Milvus"`
}

// Validate refuses settings that contradict each other.
func (f MilvusFlags) Validate() error {
	return broken(
		rule{(f.MilvusUser != "") != f.MilvusPassword.IsSet(), "--milvus-user and --milvus-password belong together"},
		rule{f.MilvusUser != "" && f.MilvusToken.IsSet(), "--milvus-token and --milvus-user exclude each other: one login is enough"},
		rule{f.MilvusCAFile != "" && !f.MilvusTLS, "--milvus-ca-file needs --milvus-tls"},
	)
}

// dial makes a client; Milvus is not asked yet.
func (f MilvusFlags) dial(address Address, database string) (*milvus.Client, error) {
	token := f.MilvusToken.Reveal()
	if f.MilvusUser != "" {
		token = f.MilvusUser + ":" + f.MilvusPassword.Reveal()
	}
	return milvus.Dial(milvus.Config{Address: string(address), Token: token, Database: database, TLS: f.MilvusTLS, CAFile: f.MilvusCAFile})
}
