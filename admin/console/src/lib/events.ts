/** One event of a stream (text/event-stream); its data are JSON. */
export interface StreamEvent {
  event: string;
  data: unknown;
}

/** Reads the events of an answer as they come. The node sends one line of data each. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      text += decoder.decode(value, { stream: !done });
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        const event = parse(text.slice(0, end));
        text = text.slice(end + 2);
        if (event) yield event;
      }
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => undefined); // Who stops reading wants no more.
  }
}

function parse(text: string): StreamEvent | undefined {
  let event = "message";
  let data = "";
  for (const line of text.split("\n")) {
    if (line.startsWith("event: ")) event = line.slice(7);
    if (line.startsWith("data: ")) data += line.slice(6);
  }
  return data ? { event, data: JSON.parse(data) as unknown } : undefined;
}
