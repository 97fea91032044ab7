// The subscriber over the live stream of a gateway, `GET /api/v1/live`. It needs no connection to the broker.

import { TrackingError } from "./core/errors.js";
import { updateFrom } from "./core/location.js";
import { estimateFrom, eventFrom, journeyFrom, resolutionFrom, tripFrom } from "./core/messages.js";
import { checkedTrackable } from "./core/topics.js";
import { LiveStream } from "./live-stream.js";
import { SubscriberStreams, withCoordinate } from "./streams.js";
import { FetchEventSource } from "./transport/sse.js";

/** The functions that turn an event of the live stream into an event of the subscriber, by its kind. */
const CONVERTED = {
  position: ({ late, ...data }) => {
    if (!data.location) return { type: "locationCleared" };
    const update = updateFrom(data);
    return { type: "location", update: withCoordinate({ update, skipped: update.skipped, isLate: late === true, isRetained: false }) };
  },
  state: ({ state }) => ({ type: "state", state }),
  presence: ({ presence, lastSeen, metadata }) => ({ type: "presence", presence: { status: presence, lastSeen, metadata } }),
  resolution: (data) => ({ type: "resolution", resolution: data.resolution ? resolutionFrom(data) : undefined }),
  trip: ({ late, ...data }) => {
    if (!data.tripId) return { type: "trip", trip: undefined };
    return { type: late ? "tripRecorded" : "trip", trip: tripFrom(data) };
  },
  event: (data) => ({ type: "event", event: eventFrom(data), isLate: data.late === true }),
  journey: ({ journey }) => ({ type: "journey", journey: journey ? journeyFrom(journey) : undefined }),
  estimate: ({ estimate }) => ({ type: "estimate", estimate: estimate ? estimateFrom(estimate) : undefined }),
  clock: ({ ahead }) => ({ type: "clock", ahead }),
};

/** Watches trackables over the live stream of a gateway. It has the streams of AssetSubscriber. */
export class GatewaySubscriber extends SubscriberStreams {
  /**
   * @param gateway the address of the gateway, such as "https://map.example.org"
   * @param token a token of the gateway, or the secret of a share link
   * @param trackables the ids of the trackables in the live stream, to which it is limited; every trackable that the token may read if
   *   there are none
   */
  constructor({ gateway, token, trackables = [] }) {
    super();
    const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
    const address = (path) => new URL(path, gateway).href;
    this.ask = (path, options = {}) => fetch(address(path), { ...options, headers: { ...options.headers, ...headers } });
    if (!URL.canParse(gateway)) {
      throw new TrackingError("invalidConfiguration", `cannot use the gateway address '${gateway}': it must begin with http:// or https://`);
    }
    this.wanted = new Map();
    /** The trackables that are watched without a request. */
    this.unrequested = new Set();
    this.isConnected = false;
    this.isStarted = false;
    this.isLost = false;
    this.live = new LiveStream({
      event: (kind, data) => this.happened(kind, data),
      opened: ({ resumed }) => this.connected(resumed),
      lost: () => this.lost(),
      reset: () => this.deliveries.yield({ type: "reset" }),
      time: () => {},
      ended: () => this.end(new TrackingError("notAuthorized", "the live stream ended: the token or the share link has ended")),
      refused: () => this.end(new TrackingError(
        "badCredentials", "cannot read the live stream: the gateway does not know the token. Pass a token of `godwit token create`")),
      forbidden: ({ detail }) => this.end(new TrackingError(
        "notAuthorized", `cannot read the live stream: ${detail ?? "the token may not read one of the trackables"}`)),
      rejected: (problem) => this.rejected(problem),
      replaced: () => {},
    }, {
      open: (path) => new FetchEventSource(address(path), headers),
      ask: this.ask,
    }, trackables.map((id) => `trackable=${encodeURIComponent(checkedTrackable(id))}`).join("&"));
  }

  /** Opens the live stream. Every method that watches or reads calls it. */
  start() {
    if (this.isStarted) return;
    this.isStarted = true;
    this.live.start();
  }

  /** Watches a trackable, and requests a resolution for it, for as long as the stream is open. */
  watch(trackable, { requesting } = {}) {
    this.request(checkedTrackable(trackable), requesting);
    if (!requesting) {
      this.unrequested.add(trackable);
      if (this.isConnected) this.check(trackable);
    }
    this.start();
  }

  unwatch(trackable) {
    this.unrequested.delete(trackable);
    this.request(trackable, undefined);
  }

  /** Requests another resolution for a trackable; undefined withdraws the request. */
  request(trackable, requesting) {
    if (requesting) {
      this.unrequested.delete(trackable);
      this.wanted.set(trackable, requesting);
    } else {
      this.wanted.delete(trackable);
    }
    this.live.requests.want(new Map(this.wanted));
  }

  /** Closes the live stream; the gateway then withdraws all requests. */
  async finish() { this.end(); }

  end(error) {
    this.isStarted = true;
    this.live.stop();
    this.deliveries.end(error);
  }

  connected(resumed) {
    this.isLost = false;
    this.isConnected = true;
    this.deliveries.yield({ type: "connection", resumed });
    for (const trackable of this.unrequested) this.check(trackable);
  }

  /** Reports a trackable that is watched without a request, if the token may not read it. */
  async check(trackable) {
    const response = await this.ask(`/api/v1/trackables/${encodeURIComponent(trackable)}/position`).catch(() => undefined);
    const body = await response?.json().catch(() => undefined);
    if (response?.status === 403 && this.unrequested.has(trackable)) this.rejected({ trackable, status: 403, detail: body?.detail });
  }

  /** Reports a resolution request that the gateway rejected, or a trackable that the token may not read. */
  rejected({ trackable, status, detail = `HTTP status ${status}` }) {
    // The gateway has no message about the trackable yet. The request is sent again after the first one.
    if (status === 404) {
      this.deliveries.yield({ type: "silent", trackable });
      return;
    }
    const code = status === 403 ? "notAuthorized" : "invalidConfiguration";
    this.deliveries.yield({ type: "refused", trackable, error: new TrackingError(code, `cannot watch '${trackable}': ${detail}`) });
  }

  /** Handles a lost stream, or another failure to open it, which is reported once. */
  lost() {
    if (this.isLost) return;
    this.isLost = true;
    this.isConnected = false;
    this.deliveries.yield({ type: "connection", disconnection: {} });
  }

  happened(kind, { trackable, ...data }) {
    try {
      this.deliveries.yield({ trackable, ...CONVERTED[kind](data) });
    } catch (error) {
      if (!(error instanceof TrackingError)) throw error;
      this.deliveries.yield({ type: "badMessage", topic: `${kind} of ${trackable}`, error });
    }
  }
}
