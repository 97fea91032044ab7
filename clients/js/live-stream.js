// The live stream of a gateway, and the resolutions that its reader requests from publishers.

/** The events about trackables. */
const KINDS = ["position", "state", "presence", "resolution", "trip", "event", "clock", "journey", "estimate"];
/** The pause in milliseconds after which the reader begins a new stream and does not resume the earlier one. */
const LONG_PAUSE = 300000;
/** The number of missing heartbeats after which the connection counts as dead. */
const MISSED = 2.5;

/** Reads the live stream from `start` until `stop`, and connects again after each failure. */
export class LiveStream {
  /**
   * @param handlers `event(kind, data)`, `opened(hello)`, `time(now)` for the gateway's clock, `broker({dropped})` with true
   *   while the broker drops messages (optional), `cells(data)` for a stream with the parameter `cells`, `reset()`, `lost()`,
   *   `ended(reason)`, `refused()` for an unknown token, `forbidden(problem)` if the token may not read all trackables of the query
   *   (optional; otherwise the stream is opened again later), `rejected({trackable, status, detail})` for a resolution request that the
   *   gateway rejects for good (optional), and `replaced()` if another user signed in meanwhile
   * @param gateway `open(path)` returns an EventSource, and `ask(path, options)` the Response of a request
   * @param query the query of the stream, such as "trackable=van-7"; none for every trackable that the caller may read
   */
  constructor(handlers, gateway, query = "") {
    this.handlers = handlers;
    this.gateway = gateway;
    this.query = query;
    this.requests = new Requests(gateway, (problem) => handlers.rejected?.(problem));
    this.lastId = undefined;
    /** The tag of the caller; undefined before the first greeting. */
    this.reader = undefined;
    /** The interval of heartbeats, in seconds. */
    this.heartbeat = 15;
    this.stoppedAt = 0;
    this.wait = 1000;
  }

  start() {
    if (this.source) return;
    if (this.stoppedAt && Date.now() - this.stoppedAt > LONG_PAUSE) this.lastId = undefined;
    this.stoppedAt = 0;
    const resume = this.lastId ? `lastEventId=${encodeURIComponent(this.lastId)}` : "";
    const query = [this.query, resume].filter((part) => part !== "").join("&");
    const source = this.gateway.open(`/api/v1/live${query && `?${query}`}`);
    this.source = source;
    this.heardAt = performance.now();
    this.watch = setInterval(() => this.look(), 1000);
    // An EventSource of a browser reconnects by itself. Each connection begins with the event hello.
    source.addEventListener("hello", (event) => this.greeted(JSON.parse(event.data)));
    source.addEventListener("heartbeat", (event) => {
      this.heard(event);
      this.handlers.time(JSON.parse(event.data).now);
    });
    for (const kind of KINDS) {
      source.addEventListener(kind, (event) => {
        this.heard(event);
        const data = JSON.parse(event.data);
        this.handlers.event(kind, data);
        this.requests.heard(data.trackable);
      });
    }
    source.addEventListener("cells", (event) => {
      this.heard(event);
      const data = JSON.parse(event.data);
      // A stream does not resume from counts: the next one begins with all counts or positions.
      if (data.complete) this.lastId = undefined;
      this.handlers.cells?.(data);
    });
    source.addEventListener("broker", (event) => this.handlers.broker?.(JSON.parse(event.data)));
    source.addEventListener("reset", () => this.handlers.reset());
    source.addEventListener("end", (event) => {
      const { reason } = JSON.parse(event.data);
      this.close();
      if (reason === "expired") this.handlers.ended(reason);
      else this.again();
    });
    source.onerror = () => {
      // After counts, the stream does not resume. The browser itself would resume from the id in the address.
      if (resume && this.lastId === undefined && this.source === source) { this.again(); return; }
      this.requests.lost();
      this.handlers.lost();
      // The browser reconnects by itself, unless the gateway rejected the request.
      if (source.readyState === source.constructor.CLOSED && this.source === source) this.refused();
    };
  }

  greeted(hello) {
    this.heardAt = performance.now();
    this.heartbeat = hello.heartbeat;
    this.handlers.time(hello.now);
    if (this.reader !== undefined && this.reader !== hello.reader) {
      this.handlers.replaced();
      this.anew();
      return;
    }
    this.reader = hello.reader;
    this.wait = 1000;
    this.requests.opened(hello.stream);
    this.handlers.opened(hello);
  }

  heard(event) {
    this.heardAt = performance.now();
    if (event.lastEventId) this.lastId = event.lastEventId;
  }

  /** Opens another connection, which resumes the stream, if the present one has been silent for too long. */
  look() {
    if (performance.now() - this.heardAt > MISSED * this.heartbeat * 1000) this.again();
  }

  /** Closes the stream and withdraws all requests, for example because the page is hidden. */
  stop() {
    this.stoppedAt = Date.now();
    this.close();
  }

  /** Begins a new stream with another query, such as another box. */
  show(query) {
    this.query = query;
    this.lastId = undefined;
    if (!this.source) return;
    this.close();
    this.start();
  }

  /** Begins a new stream for another user. */
  anew() {
    this.close();
    this.lastId = this.reader = undefined;
    this.start();
  }

  close() {
    clearTimeout(this.timer);
    clearInterval(this.watch);
    this.source?.close();
    this.source = undefined;
    this.requests.lost();
  }

  again() {
    this.close();
    this.handlers.lost();
    this.timer = setTimeout(() => this.start(), this.wait);
    this.wait = Math.min(30000, this.wait * 2);
  }

  async refused() {
    this.close();
    // A query that names trackables can be forbidden. Any other one is not repeated, because its answer may be long.
    const query = /^trackables?=/.test(this.query) ? this.query : "trackables=_";
    const response = await this.gateway.ask(`/api/v1/live?${query}`, { method: "GET", signal: AbortSignal.timeout(5000) })
      .catch(() => undefined);
    const problem = await problemOf(response);
    // The stream was stopped or opened again meanwhile, so this answer does not matter.
    if (this.stoppedAt || this.source) return;
    if (problem.status === 401) this.handlers.refused();
    else if (problem.status === 403 && query === this.query && this.handlers.forbidden) this.handlers.forbidden(problem);
    else this.again();
  }
}

/** Returns the {status, detail} of an answer; the status is 0 without an answer. The detail is the gateway's text about an error. */
async function problemOf(response) {
  if (!response) return { status: 0 };
  const { status } = response;
  if (response.ok) {
    response.body?.cancel();
    return { status };
  }
  const body = await response.json().catch(() => undefined);
  return { status, detail: body?.detail };
}

/** The HTTP statuses after which a request is not repeated: the trackable is unknown, or may not be read. */
const FOR_GOOD = [400, 403, 404];
/** The HTTP statuses that show that a withdrawn request does not exist any more, or that its stream has ended. */
const NOT_ASKED = [204, 409, ...FOR_GOOD];

/** The resolution requests of the reader: the wanted and the sent ones. They are sent one by one, again on each stream. */
class Requests {
  /** @param rejected called with {trackable, status, detail} for a request that is not repeated on this stream */
  constructor(gateway, rejected) {
    this.gateway = gateway;
    this.rejected = rejected;
    this.wanted = new Map();
    this.asked = new Map();
    this.unknown = new Set();
    this.wait = 1000;
  }

  /** @param wanted the resolutions to request, by trackable id; other requests are withdrawn. */
  want(wanted) {
    this.wanted = wanted;
    this.tell();
  }

  of(id) { return this.asked.has(id) ? this.wanted.get(id) : undefined; }

  opened(stream) {
    this.stream = stream;
    this.asked = new Map();
    this.unknown.clear();
    this.wait = 1000;
    this.tell();
  }

  lost() {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.stream = undefined;
    this.asked = new Map();
  }

  heard(id) { if (this.unknown.delete(id)) this.tell(); }

  async tell() {
    if (!this.stream || this.isTelling || this.timer) return;
    this.isTelling = true;
    try { while (await this.tellNext()); } finally { this.isTelling = false; }
  }

  /** Sends one request that differs from the wanted ones; returns true if there was one. */
  async tellNext() {
    const stream = this.stream;
    if (!stream) return false;
    for (const [id, resolution] of this.wanted) {
      const text = JSON.stringify(resolution);
      if (this.asked.get(id) === text || this.unknown.has(id)) continue;
      const problem = await this.send(stream, id, { method: "POST", headers: { "Content-Type": "application/json" }, body: text });
      if (this.stream !== stream) return true;
      if (problem.status === 204) {
        this.asked.set(id, text);
      } else if (FOR_GOOD.includes(problem.status)) {
        this.unknown.add(id);
        this.rejected({ trackable: id, ...problem });
      } else {
        return this.later();
      }
      this.wait = 1000;
      return true;
    }
    for (const id of this.asked.keys()) {
      if (this.wanted.has(id)) continue;
      const { status } = await this.send(stream, id, { method: "DELETE" });
      if (this.stream !== stream) return true;
      if (!NOT_ASKED.includes(status)) return this.later();
      this.asked.delete(id);
      this.wait = 1000;
      return true;
    }
    return false;
  }

  /** Sends the request again later, with waits up to 30 s, because the gateway is unavailable or overloaded. */
  later() {
    this.timer = setTimeout(() => { this.timer = undefined; this.tell(); }, this.wait);
    this.wait = Math.min(30000, this.wait * 2);
    return false;
  }

  /** Returns the {status, detail} of the answer; the status is 0 without an answer. */
  async send(stream, id, options) {
    const path = `/api/v1/trackables/${encodeURIComponent(id)}/resolution?stream=${encodeURIComponent(stream)}`;
    return problemOf(await this.gateway.ask(path, options).catch(() => undefined));
  }
}
