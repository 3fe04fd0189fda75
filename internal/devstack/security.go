package devstack

import (
	"crypto/tls"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Security is what a broker asks of its clients; nothing when empty.
type Security struct {
	TLS   *tls.Config
	Users []User // with any, clients must log in
	ACLs  bool   // users may only what they are allowed
}

// User is somebody who may log in to a broker.
type User struct {
	Mechanism      string // PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512
	Name, Password string
	Super          bool     // may everything
	Topics         []string // that it may read, write and make
	Groups         []string // that it may be a member of
}

func (s Security) options() []kfake.Opt {
	var opts []kfake.Opt
	if s.TLS != nil {
		opts = append(opts, kfake.TLS(s.TLS))
	}
	if len(s.Users) > 0 {
		opts = append(opts, kfake.EnableSASL())
	}
	if s.ACLs {
		opts = append(opts, kfake.EnableACLs())
	}
	for _, u := range s.Users {
		if u.Super {
			opts = append(opts, kfake.Superuser(u.Mechanism, u.Name, u.Password))
			continue
		}
		var acls []kfake.ACL
		allow := func(kind kmsg.ACLResourceType, name string, operations ...kmsg.ACLOperation) {
			for _, o := range operations {
				acls = append(acls, kfake.ACL{Resource: kind, Name: name, Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: o, Allow: true})
			}
		}
		for _, t := range u.Topics {
			allow(kmsg.ACLResourceTypeTopic, t, kmsg.ACLOperationRead, kmsg.ACLOperationDescribe, kmsg.ACLOperationWrite, kmsg.ACLOperationCreate)
		}
		for _, g := range u.Groups {
			allow(kmsg.ACLResourceTypeGroup, g, kmsg.ACLOperationRead, kmsg.ACLOperationDescribe)
		}
		opts = append(opts, kfake.User(u.Mechanism, u.Name, u.Password, acls...))
	}
	return opts
}
