package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// largeSpecs names the file in the corpus of APIs that have no entry of the catalog, most of them large.
var largeSpecs = map[string]string{
	"aws-ec2": "aws-ec2/amazonaws.com_ec2.json", "aws-s3": "aws-s3/amazonaws.com_s3.json", "azure-keyvault": "azure-keyvault/azure.com_keyvault.json",
	"azure-webapps": "azure-webapps/azure.com_web-WebApps.json", "bunq": "bunq/bunq.com.json", "docker-engine": "docker-engine/swagger.yaml",
	"evetech-esi": "evetech-esi/evetech.net.json", "linode": "linode/linode.com.json", "openfec-osf": "openfec-osf/osf.io.json", "plaid": "plaid/2020-09-14.yml",
	"postmark-server": "postmark-server/postmarkapp.com_server.json", "spacetraders": "spacetraders/reference/SpaceTraders.json",
	"stackexchange": "stackexchange/stackexchange.com.json", "traccar": "traccar/openapi.yaml", "vercel": "vercel/vercel.com.json", "vimeo": "vimeo/vimeo.com.json",
	"e-conomic": "e-conomic/e-conomic.com.json", "etcd-rpc": "etcd-rpc/rpc.swagger.json", "libopenapi-xsoar": "libopenapi-xsoar/xsoar.json",
	"paypal-invoicing-v2": "paypal-invoicing-v2/invoicing_v2.json", "readme-api-31": "readme-api-31/readme.yaml", "thebluealliance": "thebluealliance/thebluealliance.com.json",
}

// measureLarge asks the needs of APIs without an entry: those that were seen and those
// held out.
func measureLarge(ctx context.Context, specs, needs string, stderr io.Writer) (map[string][2]apiFound, error) {
	sets, err := twoNeeds(needs, "needs-large.tsv", "needs-large-held-out.tsv", largeSpecs)
	if err != nil {
		return nil, err
	}
	out := map[string][2]apiFound{}
	for api, file := range largeSpecs {
		c, both, err := readSuggested(ctx, api, filepath.Join(specs, filepath.FromSlash(file)), stderr)
		if err != nil {
			return nil, err
		}
		var x [2]apiFound
		for i := range sets {
			if x[i], _, err = foundOf(api, sets[i], c, both); err != nil {
				return nil, err
			}
		}
		out[api] = x
	}
	return out, nil
}

func (r *report) large(got map[string][2]apiFound) {
	r.line("\nNeeds of %d APIs that have no entry of the catalog:\n\n| what | goal | measured | reached |\n| --- | --- | --- | --- |", len(got))
	for k, kind := range apiKinds {
		var all apiFound
		for _, x := range got {
			all.generated.add(x[k].generated)
			all.suggested.add(x[k].suggested)
		}
		s, g := all.suggested, all.generated
		r.goal(s.eight*100 >= s.needs*goalUserNamed, kind+", with names and descriptions suggested: among the first 8", fmt.Sprintf("≥ %d %%", goalUserNamed),
			fmt.Sprintf("%s, generated %s", percent(s.eight, s.needs), percent(g.eight, g.needs)))
		r.line("| the same, found as the first result | | %s, generated %s | |", percent(s.first, s.needs), percent(g.first, g.needs))
	}
	r.line("\nFound as the first result / among the first 8, of how many:\n\n| API | %s, generated | suggested | %s, generated | suggested |\n| --- | --- | --- | --- | --- |", apiKinds[0], apiKinds[1])
	for _, api := range slices.Sorted(maps.Keys(got)) {
		row := []string{api}
		for _, x := range got[api] {
			if x.generated.needs == 0 {
				row = append(row, "", "")
				continue
			}
			row = append(row, x.generated.String(), x.suggested.String())
		}
		r.line("| %s |", strings.Join(row, " | "))
	}
}
