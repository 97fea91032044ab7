/** The accuracy and the interval of positions. `desiredInterval` is in ms, `minimumDisplacement` in metres. */
export interface Resolution {
  accuracy: "MINIMUM" | "LOW" | "BALANCED" | "HIGH" | "MAXIMUM";
  desiredInterval: number;
  minimumDisplacement: number;
}

/** The interval in seconds, and the distance in metres between two positions (default 0). */
export interface Pace { every: number; moving?: number }

/** Make a resolution of this accuracy. Throw a TrackingError for an interval or a distance that the protocol does not allow. */
export function minimum(pace: Pace): Resolution;
export function low(pace: Pace): Resolution;
export function balanced(pace: Pace): Resolution;
export function high(pace: Pace): Resolution;
export function maximum(pace: Pace): Resolution;

/** A place in WGS 84 degrees. */
export interface Coordinate { latitude: number; longitude: number }

/** A fix of a trackable. Unknown values are absent. Times are Unix time in seconds; distances are in metres, speeds in m/s. */
export interface Location {
  coordinate: Coordinate;
  altitude?: number;
  time: number;
  accuracyHorizontal?: number;
  accuracyVertical?: number;
  bearing?: number;
  accuracyBearing?: number;
  speed?: number;
  accuracySpeed?: number;
  floor?: number;
  seq?: number;
  stream?: string;
  batteryLevel?: number;
  mode?: "ACTIVE" | "BALANCED" | "PASSIVE" | "CUSTOM";
  motion: ("driving" | "walking" | "running" | "cycling" | "stationary")[];
  tripId?: string;
  source?: "gps" | "network" | "replay" | "simulated" | "zone" | "predicted";
  extra?: Record<string, unknown>;
}

/** The match of a fix with a road, in an enhanced update. */
export interface Enhancement {
  confidence: "matched" | "presumed" | "off-road";
  road?: string;
  way?: number;
  roadClass?: string;
  speedLimit?: number;
  offset?: number;
  finalSeq?: number;
}

/** A location update as it was published. */
export interface LocationUpdate {
  location: Location;
  skipped: Location[];
  intermediate: Location[];
  kind: "ACTUAL" | "PREDICTED";
  enhancement?: Enhancement;
}

/** A received update. `skipped` has the skipped points that were not delivered before. */
export interface ReceivedUpdate {
  update: LocationUpdate;
  coordinate: Coordinate;
  skipped: Location[];
  /** True if a newer position was delivered before this one. It belongs to the history and is never the current position. */
  isLate: boolean;
  /** True for the broker's retained message, whose position may be old. */
  isRetained: boolean;
}

export type State = "OFFLINE" | "ONLINE" | "STALE" | "FAILED";

/** The presence of a publisher, the time of its last message in Unix seconds, and its text about the trackable. */
export interface PublisherPresence { status: "PRESENT" | "ABSENT" | "UNKNOWN"; lastSeen?: number; metadata?: string }

/** The resolution with which a publisher publishes, with its reasons. `maximumSilence` is in ms. */
export interface ResolutionInForce {
  resolution: Resolution;
  isNear: boolean;
  subscribers: number;
  isLowBattery: boolean;
  state: "OFFLINE" | "PUBLISHING" | "ONLINE" | "FAILED";
  filter: "both" | "either";
  maximumSilence: number;
  approach?: { destination: Coordinate; distance?: number; timeToArrival?: number };
}

export interface Trip {
  id: string;
  mode: string;
  state: "ACTIVE" | "ENDED";
  start: number;
  end?: number;
  startLocation?: Location;
  lastLocation?: Location;
  distance: number;
  duration: number;
  endedBy?: "user" | "automatic";
  stream: string;
  seq: number;
}

export interface TrackingEvent {
  id: string;
  stream: string;
  seq: number;
  time: number;
  kind: string;
  detail: Record<string, unknown>;
  location?: Location;
}

export interface Journey {
  stops: { id: string; name?: string; location: Coordinate; radius: number; planned?: number }[];
  profile?: "auto" | "bicycle" | "pedestrian" | "bus" | "truck";
}

export interface Estimate {
  time: number;
  basis: "route" | "straight-line";
  stops: {
    id: string;
    eta?: number;
    earliest?: number;
    latest?: number;
    distance?: number;
    status: "EN_ROUTE" | "APPROACHING" | "ARRIVED" | "DELAYED" | "OFF_ROUTE" | "UNKNOWN";
  }[];
  route: Coordinate[];
}

/** The error of an operation. `code` is a stable word; `reasonCode` is the broker's reason. */
export class TrackingError extends Error {
  readonly code: string;
  readonly reasonCode?: number;
}

/** A lost connection, or a failed attempt to connect. `retry` is the wait in ms before the next attempt; absent if none follows. */
export interface Disconnection { reason?: TrackingError; retry?: number; lasted?: number }

/** An event of a subscriber. */
export type SubscriberEvent =
  | { type: "location"; trackable: string; update: ReceivedUpdate }
  | { type: "publishedLocation"; trackable: string; update: ReceivedUpdate }
  | { type: "raw"; trackable: string; update: ReceivedUpdate }
  | { type: "locationCleared"; trackable: string }
  | { type: "positionsKept"; trackables: Set<string> }
  | { type: "state"; trackable: string; state: State; reason?: TrackingError }
  | { type: "presence"; trackable: string; presence: PublisherPresence }
  | { type: "resolution"; trackable: string; resolution?: ResolutionInForce }
  | { type: "trip"; trackable: string; trip?: Trip }
  | { type: "tripRecorded"; trackable: string; trip: Trip }
  | { type: "event"; trackable: string; event: TrackingEvent; isLate?: boolean }
  | { type: "journey"; trackable: string; journey?: Journey }
  | { type: "estimate"; trackable: string; estimate?: Estimate }
  | { type: "clock"; trackable: string; ahead?: number }
  /** No program publishes the trackable, or the user may not read it. Over a gateway: the gateway has no message about it. */
  | { type: "silent"; trackable: string }
  /**
   * The broker rejected a subscription. Over a gateway: the token may not read the trackable, or may not request the resolution. The
   * error has the code "notAuthorized", and the trackable's streams remain empty.
   */
  | { type: "refused"; trackable?: string; error: TrackingError }
  | { type: "enhancedRefused"; trackable?: string; error: TrackingError }
  | { type: "publishRefused"; topic: string; error: TrackingError }
  | { type: "badMessage"; topic: string; error: TrackingError }
  | { type: "connection"; disconnection?: Disconnection; resumed?: boolean }
  | { type: "reset" };

/** The kind of positions to deliver where both exist: published ones, or enhanced ones on the road. */
export type PositionKind = "published" | "enhanced";

/** The streams of a subscriber, from the call on. The end of a loop ends its stream. */
export class SubscriberStreams {
  /** The number of events that slow readers lost. */
  readonly lostEvents: number;
  events(): AsyncIterableIterator<SubscriberEvent>;
  /** Watches a trackable. The end of its last stream withdraws the request and stops watching. */
  locations(
    trackable: string, options?: { requesting?: Resolution; preferring?: PositionKind },
  ): AsyncIterableIterator<ReceivedUpdate>;
  /** The streams of one trackable that is watched by `watch` or `locations`. */
  rawLocations(trackable: string): AsyncIterableIterator<ReceivedUpdate>;
  states(trackable: string): AsyncIterableIterator<State>;
  presence(trackable: string): AsyncIterableIterator<PublisherPresence>;
  resolutions(trackable: string): AsyncIterableIterator<ResolutionInForce>;
  trips(trackable: string): AsyncIterableIterator<Trip>;
  trackingEvents(trackable: string): AsyncIterableIterator<TrackingEvent>;
}

/** The settings of a subscriber over MQTT. */
export interface AssetSubscriberOptions {
  /** The address of the broker: ws://, wss://, and in Node.js also mqtt:// and mqtts://. */
  broker: string;
  /** The client id, for one program only; random by default. */
  client?: string;
  username?: string;
  password?: string;
  /** The class of WebSockets, if the platform has none of its own. */
  WebSocket?: unknown;
  /** The options of `tls.connect` for mqtts://, such as `ca`. */
  tls?: object;
  topicRoot?: string;
  /** The lease in seconds, 1 to 86,400; 90 by default. */
  lease?: number;
  /** True for a subscriber that announces no presence. It cannot request a resolution. */
  isSilent?: boolean;
  /** True for a subscriber that is present on a trackable only while it requests a resolution. */
  isPresentOnlyWhileAsking?: boolean;
  wantsRaw?: boolean;
  prefers?: PositionKind;
  wantsJourneys?: boolean;
  /** True to receive also trips and events that arrive only in batches of records. */
  wantsRecorded?: boolean;
  /** True to watch every trackable beneath the topic root, each from its first message on. */
  watchesAll?: boolean;
  requestForAll?: Resolution;
  maximumTrackables?: number;
}

/** Watches trackables over one connection to the broker. */
export class AssetSubscriber extends SubscriberStreams {
  constructor(options: AssetSubscriberOptions);
  readonly client: string;
  /** True while the subscriber is connected and the broker has answered all its subscriptions. */
  readonly isSettled: boolean;
  readonly badMessages: number;
  start(): void;
  watch(trackable: string, options?: { requesting?: Resolution; preferring?: PositionKind }): void;
  unwatch(trackable: string): void;
  /** Requests another resolution; undefined withdraws the request. */
  request(trackable: string, requesting: Resolution | undefined): void;
  /** Publishes a tracking event. Resolves once the broker has accepted it. */
  publish(trackable: string, event: TrackingEvent): Promise<void>;
  /** Returns the ms until the next position is expected; negative when it is overdue. */
  untilNextExpected(trackable: string): number | undefined;
  /** Withdraws all requests and presences, and closes the connection in order. */
  finish(): Promise<void>;
}

/** The settings of a subscriber over the live stream of a gateway. */
export interface GatewaySubscriberOptions {
  /** The address of the gateway, such as https://map.example.org. */
  gateway: string;
  /** A token of the gateway, or the secret of a share link. */
  token?: string;
  /**
   * The ids of the trackables in the live stream; every trackable that the token may read by default. The stream has no others, also not
   * those of later calls of `watch` and `locations`. If the token may not read one of them, the subscriber ends with an error.
   */
  trackables?: string[];
}

/** Watches trackables over the live stream of a gateway. */
export class GatewaySubscriber extends SubscriberStreams {
  constructor(options: GatewaySubscriberOptions);
  start(): void;
  watch(trackable: string, options?: { requesting?: Resolution }): void;
  unwatch(trackable: string): void;
  request(trackable: string, requesting: Resolution | undefined): void;
  finish(): Promise<void>;
}

/** A place on a map, as map libraries have it. */
export interface Place { lat: number; lng: number; bearing?: number }

/** The position of a smooth marker between updates. `now` is in ms of a clock that never goes back. */
export class Animator {
  /** The time between two updates in ms; it holds from the next update on. */
  interval: number;
  constructor(interval?: number, options?: { delay?: number; snapDistance?: number });
  /** Adds the places of an update, the newest last. */
  updated(places: Place[], now: number): void;
  /** Replaces the newest position by the position on the road of the same fix. */
  corrected(place: Place, now: number): void;
  /** Moves the marker to the newest position at once. */
  snap(): void;
  /** Returns the marker to draw; undefined before the first update. */
  frame(now: number): (Place & { hasRunOut: boolean }) | undefined;
  /** Returns the distance in metres that the marker has yet to move. */
  remaining(now: number): number;
}

/** Metres between two places along the great circle. */
export function distance(a: Place, b: Place): number;
/** The initial bearing of the great circle from one place to another. */
export function bearing(a: Place, b: Place): number;
/** The place at a fraction of the great circle between two. */
export function interpolated(a: Place, b: Place, fraction: number): Place;

/** Returns true for a position that may be shown as the current one. `now` is the reader's Unix time in seconds. */
export function isLivePosition(location: Location, now: number): boolean;
