package main

import (
	"encoding/json"
	"net/http"
	"strings"
)

// chatCompletions is an OpenAI-compatible endpoint that wants the key sk-let-me-in and
// proposes a "read" for each "get", and something useless for lists.
func chatCompletions(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer sk-let-me-in" {
		http.Error(w, `{"error":{"message":"Incorrect API key provided"}}`, http.StatusUnauthorized)
		return
	}
	var in struct {
		Messages []struct {
			Content string `json:"content"`
		} `json:"messages"`
	}
	var data struct {
		Tools []struct {
			ID   int    `json:"id"`
			Name string `json:"name"`
		} `json:"tools"`
	}
	if r.URL.Path != "/v1/chat/completions" || json.NewDecoder(r.Body).Decode(&in) != nil || json.Unmarshal([]byte(in.Messages[len(in.Messages)-1].Content), &data) != nil {
		http.Error(w, `{"error":{"message":"bad request"}}`, http.StatusBadRequest)
		return
	}
	list := []map[string]any{}
	for _, t := range data.Tools {
		if rest, get := strings.CutPrefix(t.Name, "get_"); get {
			list = append(list, map[string]any{"id": t.ID, "name": "read_" + rest, "description": "Reads one " + rest + " and returns it.", "reason": "reading changes nothing, and the verb says so"})
		} else if strings.HasPrefix(t.Name, "list_") {
			list = append(list, map[string]any{"id": t.ID, "name": "List!", "reason": "shouting"})
		}
	}
	content, _ := json.Marshal(map[string]any{"suggestions": list})
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "chat.completion", "choices": []any{
		map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": string(content)}},
	}})
}
