// Server-sent events over fetch, for Node.js and for requests with a header. The class has the parts of a browser's EventSource
// that LiveStream uses. It does not connect again by itself: LiveStream does so when the state is CLOSED.

/** The largest number of characters of one event. A stream with a larger event counts as damaged. */
const MAXIMUM_EVENT = 4_194_304;

/** Divides the text of a stream into events {type, data, lastEventId}. */
export class EventParser {
  constructor() {
    this.rest = "";
    this.size = 0;
    this.lastEventId = "";
    this.begin();
  }

  /** Returns the events that are complete. Throws if an event is too large. */
  push(text) {
    const events = [];
    const lines = (this.rest + text).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop();
    for (const line of lines) {
      this.size += line.length;
      if (line === "") events.push(...this.dispatch());
      else this.field(line);
    }
    if (this.size + this.rest.length > MAXIMUM_EVENT) throw new Error("an event of the live stream is too large");
    return events;
  }

  begin() { [this.type, this.data, this.size] = ["message", [], 0]; }

  field(line) {
    const [, name, value] = line.match(/^([^:]*)(?:: ?)?([^]*)$/);
    if (name === "event") this.type = value;
    if (name === "data") this.data.push(value);
    if (name === "id" && !value.includes("\0")) this.lastEventId = value;
  }

  dispatch() {
    const { type, data, lastEventId } = this;
    this.begin();
    return data.length > 0 ? [{ type, data: data.join("\n"), lastEventId }] : [];
  }
}

export class FetchEventSource {
  static CLOSED = 2;

  /** @param headers the headers of the request, such as Authorization */
  constructor(url, headers = {}) {
    this.readyState = 0;
    this.onerror = () => {};
    this.listeners = new Map();
    this.abort = new AbortController();
    this.read(url, headers);
  }

  addEventListener(type, listener) { this.listeners.set(type, [...this.listeners.get(type) ?? [], listener]); }

  close() {
    this.readyState = FetchEventSource.CLOSED;
    this.abort.abort();
  }

  async read(url, headers) {
    try {
      const response = await fetch(url, { headers: { Accept: "text/event-stream", ...headers }, signal: this.abort.signal });
      if (!response.ok) throw new Error(`the gateway answered with HTTP status ${response.status}`);
      this.readyState = 1;
      const [parser, decoder] = [new EventParser(), new TextDecoder()];
      for await (const bytes of chunksOf(response.body)) {
        for (const event of parser.push(decoder.decode(bytes, { stream: true }))) {
          if (this.readyState === FetchEventSource.CLOSED) return;
          for (const listener of this.listeners.get(event.type) ?? []) listener(event);
        }
      }
    } catch { /* the state shows the failure */ }
    if (this.readyState === FetchEventSource.CLOSED) return;
    this.close();
    this.onerror();
  }
}

/** Returns the chunks of a stream. Not every browser can iterate over a ReadableStream. */
async function* chunksOf(body) {
  const reader = body.getReader();
  for (let { value, done } = await reader.read(); !done; { value, done } = await reader.read()) yield value;
}
