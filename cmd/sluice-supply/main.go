package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/sluicegate/sluice/cmd/internal/tool"
)

func main() { tool.Main("sluice-supply", run) }

func run(ctx context.Context, args []string, stdout, _ io.Writer) error {
	if len(args) == 0 {
		return errors.New("usage: sluice-supply sbom|provenance|licences|vulncheck")
	}
	flags := flag.NewFlagSet("sluice-supply "+args[0], flag.ContinueOnError)
	version := flags.String("version", "devel", "`VERSION` of the release")
	switch args[0] {
	case "sbom":
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		made, err := sourceDate()
		if err != nil {
			return err
		}
		for _, binary := range flags.Args() {
			to := strings.TrimSuffix(binary, ".exe") + ".cdx.json"
			n, err := writeSBOM(ctx, binary, *version, to, made)
			if err != nil {
				return fmt.Errorf("%s: %w", binary, err)
			}
			fmt.Fprintf(stdout, "%s: %d modules\n", to, n)
		}
		return nil
	case "provenance":
		var b build
		flags.StringVar(&b.Source, "source", "", "`URI` of the source, without its revision")
		flags.StringVar(&b.Commit, "commit", "", "`COMMIT` of the source")
		flags.StringVar(&b.Command, "command", "", "`COMMAND` that builds a binary, with its flags")
		flags.StringVar(&b.Builder, "builder", "", "`URI` of who builds")
		flags.StringVar(&b.Invocation, "invocation", "", "`ID` of the run of the builder")
		flags.BoolVar(&b.Dirty, "dirty", false, "the source has changes that are in no commit")
		to := flags.String("o", "provenance.intoto.json", "`FILE` to write")
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		b.Version = *version
		if err := writeProvenance(&b, flags.Args(), *to); err != nil {
			return err
		}
		fmt.Fprintf(stdout, "%s: %d files, not signed\n", *to, flags.NArg())
		return nil
	case "licences":
		platforms := flags.String("platforms", "linux/amd64", "`LIST` of GOOS/GOARCH that the binary is built for")
		of := flags.String("package", "./cmd/sluice", "`PACKAGE` of the binary")
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		return reportLicences(ctx, stdout, *of, strings.Fields(strings.ReplaceAll(*platforms, ",", " ")))
	case "vulncheck":
		s := scan{Package: "./cmd/sluice"}
		flags.StringVar(&s.DB, "db", "https://vuln.go.dev", "`URL` of the vulnerability data")
		flags.StringVar(&s.Tool, "tool", "bin/govulncheck", "`PATH` of govulncheck")
		flags.StringVar(&s.Install, "install", "", "`MODULE@VERSION` to install it from when it is not there")
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		return s.run(ctx, stdout)
	}
	return fmt.Errorf("unknown command %q", args[0])
}

// sourceDate is now, or what SOURCE_DATE_EPOCH says (reproducible-builds.org).
func sourceDate() (time.Time, error) {
	now := time.Now().UTC()
	epoch := os.Getenv("SOURCE_DATE_EPOCH")
	if epoch == "" {
		return now, nil
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return now, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}
