import { expect, test } from "vitest";
import { readEvents } from "./events";

const streamOf = (...parts: string[]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const part of parts) controller.enqueue(new TextEncoder().encode(part));
      controller.close();
    },
  });

async function all(body: ReadableStream<Uint8Array>) {
  const found = [];
  for await (const e of readEvents(body)) found.push(`${e.event} ${JSON.stringify(e.data)}`);
  return found;
}

test("events are read whole, however they are cut, and comments are none", async () => {
  expect(await all(streamOf('event: step\ndata: {"a', '":1}\n', "\n: still here\n\nevent: done\nda", 'ta: "ü"\n\n'))).toEqual(['step {"a":1}', 'done "ü"']);
});

test("an event that was cut off is none", async () => {
  expect(await all(streamOf('event: step\ndata: {"a":1}\n\nevent: done\ndata: {'))).toEqual(['step {"a":1}']);
});
