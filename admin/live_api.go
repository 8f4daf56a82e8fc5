package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/sluicegate/sluice/admin/front/live"
)

// streamPatience is how long a client may take to read an event before its stream ends.
const streamPatience = 10 * time.Second

// watchInput asks for changes.
type watchInput struct {
	Since string `query:"lastEventId" maxLength:"400" doc:"As Last-Event-ID, which takes precedence: for a stream that a page opens again."`
	After string `header:"Last-Event-ID" maxLength:"400" doc:"id of the last received event: later changes are sent first. Browsers send it when they reconnect."`
}

// ChangedRecords says which records are to be read again.
type ChangedRecords struct {
	Subjects []string `json:"subjects" enum:"jobs,alerts,toolsets,usage,records" doc:"Kinds of records that changed; none in the first event of a stream that began without Last-Event-ID. records: anything that is in the audit log." example:"[\"alerts\", \"usage\"]"`
}

func registerLive(s *Server) {
	schema := s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[ChangedRecords](), true, "")
	register(s, huma.Operation{
		OperationID: "watch-changes", Method: http.MethodGet, Path: "/v1/changes", Summary: "Be told what changes", Tags: []string{"jobs"},
		Description: "A stream of events: changed, within about a second of a change of the workspace's records, says which kinds of them to read again, and never what is in them. " +
			"A comment comes every 15 seconds. The stream ends with the session or API token, when its role changes, and with the node; connect again with Last-Event-ID, and nothing is missed. " +
			"A member or API token has at most 20 streams, a node 1,000: more are refused with 429.",
		Responses: map[string]*huma.Response{"200": {
			Description: "A stream of events (text/event-stream) with one line of JSON each.",
			Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: schema}},
		}},
	}, func(ctx context.Context, in *watchInput) (*huma.StreamResponse, error) {
		stream, err := s.live.Open(ctx, s.workspace(ctx))
		if err != nil {
			return nil, err
		}
		return &huma.StreamResponse{Body: func(hc huma.Context) {
			defer stream.Close()
			streamChanges(hc, stream, cmp.Or(in.After, in.Since))
		}}, nil
	})
}

// streamChanges writes what a stream tells.
func streamChanges(hc huma.Context, stream *live.Stream, after string) {
	hc.SetHeader("Content-Type", "text/event-stream")
	hc.SetHeader("X-Accel-Buffering", "no") // proxies hold it back otherwise
	hc.SetStatus(http.StatusOK)
	_, w := humago.Unwrap(hc)
	out := http.NewResponseController(w)
	// What ends a stream is found out by its client, which connects again and is told why it may not.
	_ = stream.Follow(hc.Context(), after, func(e live.Event) error {
		// A client that does not read ends its stream, not the node.
		if err := out.SetWriteDeadline(time.Now().Add(streamPatience)); err != nil {
			return err
		}
		text := ": still here\n\n"
		if e.Mark != "" {
			data, err := json.Marshal(ChangedRecords{Subjects: e.Subjects})
			if err != nil {
				return err
			}
			text = fmt.Sprintf("id: %s\nevent: changed\ndata: %s\n\n", e.Mark, data)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			return err
		}
		return out.Flush()
	})
	_ = out.SetWriteDeadline(time.Time{})
}
