package main

import (
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/internal/forwarded"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/tlsfiles"
)

// Names of the listeners in what is said about their certificates.
const (
	gatewayName = "the gateway"
	adminName   = "the admin API"
)

// gatewayFiles are those of the gateway's TLS: of the flags, else of the environment, else
// of the configuration file. Certificate and key come from the same place.
func gatewayFiles(flags tlsfiles.Files, a *app) tlsfiles.Files {
	return firstFiles(flags, a.Env.TLS, tlsfiles.Files{Certificate: a.Config.TLSCert, Key: a.Config.TLSKey, ClientCA: a.Config.TLSClientCA})
}

// adminFiles are those of the admin API's TLS.
func adminFiles(flags tlsfiles.Files, a *app) tlsfiles.Files {
	return firstFiles(flags, a.Env.AdminTLS, tlsfiles.Files{Certificate: a.Config.AdminTLSCert, Key: a.Config.AdminTLSKey})
}

func firstFiles(places ...tlsfiles.Files) tlsfiles.Files {
	for _, f := range places {
		if f != (tlsfiles.Files{}) {
			return f
		}
	}
	return tlsfiles.Files{}
}

func gatewayTLS(flags tlsfiles.Files, a *app) (tlsfiles.Files, error) {
	return checkFiles(gatewayName, "--tls-cert and --tls-key", gatewayFiles(flags, a))
}

func adminTLS(flags tlsfiles.Files, a *app) (tlsfiles.Files, error) {
	return checkFiles(adminName, "--admin-tls-cert and --admin-tls-key", adminFiles(flags, a))
}

// checkFiles reads the files, so that a fault of theirs is found before anything is made.
func checkFiles(name, flags string, f tlsfiles.Files) (tlsfiles.Files, error) {
	if f == (tlsfiles.Files{}) {
		return f, nil
	}
	if f.Certificate == "" || f.Key == "" {
		return f, exit.Usagef("%s belong together, and others need both", flags)
	}
	_, err := tlsfiles.Leaf(tlsfiles.Options{Files: f, Name: name})
	return f, err
}

// certificateHosts are the names in the certificate of the admin API; none without one.
func certificateHosts(f tlsfiles.Files) []string {
	if f.Certificate == "" {
		return nil
	}
	leaf, err := tlsfiles.Leaf(tlsfiles.Options{Files: f, Name: adminName})
	if err != nil {
		return nil // it was checked before
	}
	return tlsfiles.Names(leaf)
}

// proxiesOf are the proxies in front: of the flag, else of the environment, else of the
// configuration file.
func proxiesOf(flag []string, a *app) (forwarded.Proxies, error) {
	list := flag
	if list == nil {
		list = a.Env.Proxies
	}
	if list == nil {
		list = a.Config.BehindProxy
	}
	p, err := forwarded.Parse(list)
	if e := problem.As(err); e != nil {
		e.Detail = "--behind-proxy: " + e.Detail
	}
	return p, err
}
