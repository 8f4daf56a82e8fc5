package rollout

import (
	"encoding/json"
	"fmt"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/store"
)

// keptContent is a draft that was set aside, as people read it: its record has settings as
// JSON in strings, and the columns of tables.
type keptContent struct {
	Name         string          `json:"name"`
	Description  string          `json:"description,omitempty"`
	Instructions string          `json:"instructions,omitempty"`
	Profile      string          `json:"profile,omitempty"`
	CacheSeconds int64           `json:"cacheSeconds,omitempty"`
	Answers      json.RawMessage `json:"answers,omitempty"`
	Selection    json.RawMessage `json:"selection,omitempty"`
	Plugins      json.RawMessage `json:"plugins,omitempty"`
	Workflows    json.RawMessage `json:"workflows,omitempty"`
	Connectors   []keptConnector `json:"connectors"`
	Edits        []keptEdit      `json:"edits,omitempty"`
}

type keptConnector struct {
	Name           string          `json:"name"`
	Source         keptSource      `json:"source"`
	Connector      string          `json:"connector"`
	Digest         string          `json:"digest"`
	BaseURL        string          `json:"baseUrl,omitempty"`
	Answers        json.RawMessage `json:"answers,omitempty"`
	Fixed          json.RawMessage `json:"fixed,omitempty"`
	UpstreamPolicy json.RawMessage `json:"upstreamPolicy,omitempty"`
	Stateless      bool            `json:"stateless,omitempty"`
	Entry          json.RawMessage `json:"entry,omitempty"`
}

type keptSource struct {
	Kind  string `json:"kind"`
	URL   string `json:"url,omitempty"`
	Title string `json:"title,omitempty"`
}

type keptEdit struct {
	Connector     string          `json:"connector,omitempty"`
	Method        string          `json:"method"`
	Path          string          `json:"path"`
	Name          *string         `json:"name,omitempty"`
	Title         *string         `json:"title,omitempty"`
	Description   *string         `json:"description,omitempty"`
	Disabled      bool            `json:"disabled,omitempty"`
	Answers       json.RawMessage `json:"answers,omitempty"`
	Annotations   json.RawMessage `json:"annotations,omitempty"`
	Fixed         json.RawMessage `json:"fixed,omitempty"`
	ArgumentTexts json.RawMessage `json:"argumentTexts,omitempty"`
	Arguments     json.RawMessage `json:"arguments,omitempty"`
}

// shownContent is what a record of a draft holds, for people.
func shownContent(row *store.DraftCopy) (json.RawMessage, error) {
	var doc draft.Content
	if err := json.Unmarshal([]byte(row.Document), &doc); err != nil {
		return nil, fmt.Errorf("reading draft %s of %s: %w", row.Name, row.ToolsetID, err)
	}
	out := keptContent{
		Name: doc.Name, Description: doc.Description, Instructions: doc.Instructions, Profile: doc.Profile, CacheSeconds: doc.CacheSeconds,
		Answers: unfolded(doc.Answers), Selection: unfolded(doc.Selection), Plugins: unfolded(doc.Plugins), Workflows: unfolded(doc.Workflows),
		Connectors: make([]keptConnector, len(doc.Connectors)), Edits: make([]keptEdit, len(doc.Edits)),
	}
	for i := range doc.Connectors {
		c := &doc.Connectors[i]
		out.Connectors[i] = keptConnector{
			Name: c.Name, Source: keptSource{c.SourceKind, c.SourceURL, c.SourceTitle}, Connector: c.Connector, Digest: c.ConnectorDigest, BaseURL: c.BaseURL,
			Answers: unfolded(c.Answers), Fixed: unfolded(c.Fixed), UpstreamPolicy: unfolded(c.UpstreamPolicy), Stateless: c.Stateless, Entry: unfolded(c.Entry),
		}
	}
	for i := range doc.Edits {
		e := &doc.Edits[i]
		out.Edits[i] = keptEdit{
			Connector: e.Connector, Method: e.Method, Path: e.Path, Name: e.Name, Title: e.Title, Description: e.Description, Disabled: e.Disabled,
			Answers: unfolded(e.Answers), Annotations: unfolded(e.Annotations), Fixed: unfolded(e.Fixed), ArgumentTexts: unfolded(e.Texts), Arguments: unfolded(e.Arguments),
		}
	}
	return json.Marshal(out)
}

// unfolded is the JSON that a column of text holds; nil where it is empty.
func unfolded(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return json.RawMessage(store.JSON(text)) // a word, as an older record has
}
