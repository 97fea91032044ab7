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
   * @param trackables the ids of the trackables to watch; every trackable that the token may read if there are none
   */
  constructor({ gateway, token, trackables = [] }) {
    super();
    const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
    const address = (path) => new URL(path, gateway).href;
    if (!URL.canParse(gateway)) {
      throw new TrackingError("invalidConfiguration", `cannot use the gateway address '${gateway}': it must begin with http:// or https://`);
    }
    this.wanted = new Map();
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
      replaced: () => {},
    }, {
      open: (path) => new FetchEventSource(address(path), headers),
      ask: (path, options = {}) => fetch(address(path), { ...options, headers: { ...options.headers, ...headers } }),
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
    this.start();
  }

  unwatch(trackable) { this.request(trackable, undefined); }

  /** Requests another resolution for a trackable; undefined withdraws the request. */
  request(trackable, requesting) {
    if (requesting) this.wanted.set(trackable, requesting);
    else this.wanted.delete(trackable);
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
    this.deliveries.yield({ type: "connection", resumed });
  }

  /** Handles a lost stream, or another failure to open it, which is reported once. */
  lost() {
    if (this.isLost) return;
    this.isLost = true;
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
