package notify

import "strings"

// slackText is the longest text of a block (Slack, "Section block").
const slackText = 3000

type slackMessage struct {
	Text   string       `json:"text"` // what notifications and programs without blocks show
	Blocks []slackBlock `json:"blocks"`
}

type slackBlock struct {
	Type string    `json:"type"`
	Text slackMark `json:"text"`
}

type slackMark struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

var slackEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// slackBody is the message of an incoming webhook.
func slackBody(m *message) slackMessage {
	title := m.head()
	var b strings.Builder
	for _, l := range m.doc.Lines {
		b.WriteString("*" + slackEscaper.Replace(l.Name) + "*  " + slackEscaper.Replace(l.Value) + "\n")
	}
	if m.doc.Remedy != "" {
		b.WriteString("*Remedy*  " + slackEscaper.Replace(m.doc.Remedy) + "\n")
	}
	if m.doc.Command != "" {
		b.WriteString("`" + slackEscaper.Replace(m.doc.Command) + "`\n")
	}
	out := slackMessage{Text: slackEscaper.Replace(title), Blocks: []slackBlock{{"section", slackMark{"mrkdwn", "*" + slackEscaper.Replace(title) + "*"}}}}
	if b.Len() > 0 {
		out.Blocks = append(out.Blocks, slackBlock{"section", slackMark{"mrkdwn", cut(b.String(), slackText)}})
	}
	return out
}

// cut cuts a text at a number of bytes, between two characters.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most-3], "") + "…"
}
