import GodwitOptions
import TrackingCore
import TrackingHistory

/// One line of the CSV output of `godwit watch`: a position, a trip or a tracking event.
struct WatchRow {
    /// The line with the names of the CSV columns, in the order in which ``text(_:receivedAt:)`` writes them.
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
    /// The name of the road of the position; `nil` for a road without a name and off the road.
    var road: String?

    /// Makes a line of the CSV output of `godwit watch` from a position, its kind (measured or predicted), and the
    /// flags skipped and late.
    init(_ point: Location, kind: LocationUpdate.Kind, isSkipped: Bool, isLate: Bool) {
        self.event = "location"
        (self.time, self.location, self.stream, self.seq) = (point.time, point, point.stream, point.seq)
        (self.isSkipped, self.isLate, self.tripID) = (isSkipped, isLate, point.tripID)
        self.type = kind
    }

    /// Makes the CSV line of a trip, with its last place as the position. The column `kind` contains the trip's state.
    init(_ trip: Trip) {
        self.event = "trip"
        self.time = trip.end ?? trip.lastLocation?.time ?? trip.start
        (self.location, self.stream, self.seq) = (trip.lastLocation, trip.stream, trip.seq)
        (self.kind, self.tripID, self.tripMode) = (trip.state.rawValue, trip.id, trip.mode)
        (self.distance, self.duration) = (trip.distance, trip.duration)
    }

    /// Makes a line of the CSV output of `godwit watch` from a tracking event. The event's place is the position.
    init(_ event: TrackingEvent) {
        self.event = "event"
        (self.time, self.location, self.stream, self.seq) = (event.time, event.location, event.stream, event.seq)
        (self.kind, self.detail) = (event.kind.rawValue, WatchPrinter.detail(event))
        if case .text(let id) = event.detail["tripId"] { self.tripID = id }
    }

    /// Returns the position, trip or tracking event as one line of CSV, with its line end.
    ///
    /// - Parameter showsRoads: `true` for a further column with the road.
    func text(_ id: TrackableID, receivedAt: UnixTime, showsRoads: Bool = false) -> String {
        let point = self.location
        func text(_ text: String?) -> String { text.map { CSVField.text($0) } ?? "" }
        func value(_ value: (some CustomStringConvertible)?) -> String {
            value.map { CSVField.value($0.description) } ?? ""
        }
        let numbers = [
            point?.coordinate.latitude, point?.coordinate.longitude, point?.altitude, point?.accuracyHorizontal,
            point?.speed, point?.bearing, point?.batteryLevel,
        ]
        var fields = [text(id.rawValue), value(TimeText.rfc3339(self.time))] + numbers.map { value($0) }
        fields += [text(self.stream?.rawValue), value(self.seq), value(self.isSkipped), value(self.isLate)]
        fields += [value(TimeText.rfc3339(receivedAt)), text(self.event), text(self.kind), text(self.tripID)]
        fields += [text(self.tripMode), value(self.distance), value(self.duration)]
        fields += [self.detail.map { CSVField.json($0) } ?? "", text(self.type?.rawValue)]
        if showsRoads { fields.append(text(self.road)) }
        return fields.joined(separator: ",") + "\n"
    }
}
