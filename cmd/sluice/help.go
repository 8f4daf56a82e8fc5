package main

import "github.com/spf13/cobra"

// helpTopics are pages of help that belong to no command.
func helpTopics() []*cobra.Command {
	topic := func(name, short, long string) *cobra.Command {
		return &cobra.Command{Use: name, Short: short, Long: long}
	}
	return []*cobra.Command{
		topic("exit-codes", "What the exit codes mean", `Exit codes

  0    done
  1    failed
  2    the command line is wrong
  3    not found
  4    not authenticated, or not allowed
  5    the tool answered with an error (isError)
  6    a document is not valid: specification, manifest
  7    conflict, failed precondition, quota
  8    unreachable, or no answer in time
  130  interrupted

With -o json, jsonl and yaml an error is an RFC 9457 problem document on stdout.`),
		topic("environment", "Environment variables", `Environment

  SLUICE_SERVER     URL of the admin API
  SLUICE_TOKEN      API token for it
  SLUICE_CONTEXT    context of the configuration file
  SLUICE_CONFIG     configuration file
  SLUICE_DATA_DIR   data directory
  SLUICE_TLS_CERT, SLUICE_TLS_KEY              certificate and key file of the gateway
  SLUICE_TLS_CLIENT_CA  authorities of the client certificates that the gateway asks for
  SLUICE_ADMIN_TLS_CERT, SLUICE_ADMIN_TLS_KEY  those of the admin API
  SLUICE_STATE      URL of the Redis or Valkey server that the nodes of a pool share
  SLUICE_ACME_CA    certificate authority that certificates of domains are got from;
                    SLUICE_ACME_CA_ROOT, SLUICE_ACME_EMAIL: its root and the address told to it
  SLUICE_DOMAIN_TARGET  host name or address that domains must lead to
  SLUICE_BEHIND_PROXY  networks of the reverse proxies in front, separated by commas
  SLUICE_OIDC_ISSUER, SLUICE_OIDC_CLIENT_ID, SLUICE_OIDC_CLIENT_SECRET
                    OpenID provider at which members sign in to the console
  SLUICE_PLUGIN_GRACE  time that plugins get beyond their deadlines, for slow machines
  NO_COLOR          no colours; FORCE_COLOR colours without a terminal

A flag wins over its variable, a variable over the configuration file. The first
of these files that exists is read:

  ./sluice.yaml
  $XDG_CONFIG_HOME/sluice/config.yaml
  /etc/sluice/sluice.yaml

Its keys: data, listen, admin-listen, public-url, admin-public-url, no-install-page,
requests-listen, requests-url, requests-tls-cert, requests-tls-key,
behind-proxy, tls-cert, tls-key, tls-client-ca, admin-tls-cert, admin-tls-key,
acme-ca, acme-ca-root, acme-email, acme-challenges, acme-dns-command,
acme-http-listen, domain-target, domain-dns, domain-tls,
cluster, advertise, shared-keys,
allow-private-upstreams, allow-commands, catalog, state, log-format, log-level, shutdown-timeout, plugin-grace, max-spec,
max-connections, max-connections-per-address, oidc ({issuer, client-id, client-secret-file,
name, groups-claim, roles, scopes}), context, contexts (name: {server, token-file}).

Without any of them a command talks to the node whose data directory is
./sluice-data: it reads the files "endpoint" and "admin.token" there. That token is
sent to loopback addresses only.`),
		topic("formatting", "Output formats", `Output formats (-o)

  table   columns for people (default)
  wide    all columns, nothing cut
  json    one document: the admin API's own objects
  yaml    the same as YAML
  jsonl   one object a line
  name    names only

  --fields a,b   only these columns (table) or members (json, yaml, jsonl)

The result goes to stdout, everything else to stderr. Colours are used on a
terminal only.`),
		topic("clients", "AI applications and their configuration", `Clients

  sluice client TOOLSET --for NAME            print the configuration
  sluice client TOOLSET --for NAME --install  write it: shows the change, asks, keeps a .bak

  claude-code     command line, or .mcp.json
  claude-desktop  starts "sluice connect": the application takes no URLs in its file
                  and its own connectors come from the vendor's cloud
  cursor          ~/.cursor/mcp.json, or a link
  vscode          .vscode/mcp.json, or a command
  codex           ~/.codex/config.toml
  gemini          ~/.gemini/settings.json
  opencode        opencode.json
  chatgpt         needs a public HTTPS URL
  curl            a request to paste`),
		topic("security", "What is protected, and how", `Security

  * The admin API listens on loopback. A node writes its token to
    <data>/admin.token, readable by its owner only.
  * Keys are never command-line values: --api-key-file FILE|-, --api-key-env NAME,
    or a prompt that does not echo. At rest they are sealed with AES-256-GCM.
  * Upstreams on private addresses are refused. One that you name on "sluice run" or
    "sluice add" from this machine is granted to that toolset for exactly the
    addresses and the port that were seen; the grant is printed, recorded and kept in
    the data directory: sluice grant list. --allow-private-upstreams[=CIDR,…] permits
    them to all toolsets.
  * A response is transformed inside WebAssembly: no files, no network, no secrets.`),
	}
}
