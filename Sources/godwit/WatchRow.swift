import GodwitOptions
import TrackingCore

/// One line of the CSV that `godwit watch` prints: a position, an event or a trip.
struct WatchRow {
    /// What the columns are called; the order is that of ``text(_:receivedAt:)``.
    static let header =
        "trackable,time,latitude,longitude,altitude,accuracy,speed,bearing,battery,stream,seq,skipped,late,receivedAt,"
        + "event,kind,tripId,tripMode,distance,duration,detail,type"

    private let event: String
    private let time: UnixTime
    private let location: Location?
    private let stream: StreamID?
    private let seq: UInt64?
    private var isSkipped: Bool?
    private var isLate: Bool?
    private var kind: String?
    private var tripID: String?
    private var tripMode: String?
    private var distance: Double?
    private var duration: Double?
    private var detail: String?
    private var type: LocationUpdate.Kind?

    /// A position.
    init(_ point: Location, kind: LocationUpdate.Kind, isSkipped: Bool, isLate: Bool) {
        self.event = "location"
        (self.time, self.location, self.stream, self.seq) = (point.time, point, point.stream, point.seq)
        (self.isSkipped, self.isLate, self.tripID) = (isSkipped, isLate, point.tripID)
        self.type = kind
    }

    /// A version of a trip, where the trackable was then; its kind is the state.
    init(_ trip: Trip) {
        self.event = "trip"
        self.time = trip.end ?? trip.lastLocation?.time ?? trip.start
        (self.location, self.stream, self.seq) = (trip.lastLocation, trip.stream, trip.seq)
        (self.kind, self.tripID, self.tripMode) = (trip.state.rawValue, trip.id, trip.mode)
        (self.distance, self.duration) = (trip.distance, trip.duration)
    }

    /// An event, where it happened.
    init(_ event: TrackingEvent) {
        self.event = "event"
        (self.time, self.location, self.stream, self.seq) = (event.time, event.location, event.stream, event.seq)
        (self.kind, self.detail) = (event.kind.rawValue, WatchPrinter.detail(event))
        if case .text(let id) = event.detail["tripId"] { self.tripID = id }
    }

    /// The line, its end included.
    func text(_ id: TrackableID, receivedAt: UnixTime) -> String {
        let point = self.location
        let fields: [String?] =
            [id.rawValue, TimeText.rfc3339(self.time)]
            + [
                point?.coordinate.latitude, point?.coordinate.longitude, point?.altitude, point?.accuracyHorizontal,
                point?.speed, point?.bearing, point?.batteryLevel,
            ].map { $0.map { "\($0)" } }
            + [self.stream?.rawValue, self.seq.map { "\($0)" }]
            + [self.isSkipped, self.isLate].map { $0.map { "\($0)" } }
            + [TimeText.rfc3339(receivedAt), self.event, self.kind, self.tripID, self.tripMode]
            + [self.distance, self.duration].map { $0.map { "\($0)" } }
            + [self.detail, self.type?.rawValue]
        return fields.map { Self.quoted($0 ?? "") }.joined(separator: ",") + "\n"
    }

    /// In quotes where the text needs them (RFC 4180).
    private static func quoted(_ text: String) -> String {
        let needsQuotes = text.unicodeScalars.contains { $0 == "," || $0 == "\"" || $0 == "\n" || $0 == "\r" }
        guard needsQuotes else { return text }
        // Not characters: a quote with an accent on it is another one.
        let quoted = text.utf8.flatMap { $0 == UInt8(ascii: "\"") ? [$0, $0] : [$0] }
        return "\"" + String(decoding: quoted, as: UTF8.self) + "\""
    }
}
