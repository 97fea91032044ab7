import Hummingbird
import NIOCore
import TestSupport
import Testing
import TrackingCore
import TrackingSubscriber

@testable import TrackingGateway

/// Events of a subscriber, for tests of the live stream.
enum Sample {
    static func location(
        _ id: TrackableID, _ seq: UInt64, latitude: Double = 52, longitude: Double = -8, time: Double? = nil,
        skipped: [Double] = [], isLate: Bool = false
    ) throws -> SubscriberEvent {
        let skipped = try skipped.map { time in
            Location(
                coordinate: try #require(Coordinate(latitude: latitude, longitude: longitude)), time: UnixTime(time))
        }
        var fix = Location(
            coordinate: try #require(Coordinate(latitude: latitude, longitude: longitude)),
            time: UnixTime(time ?? Double(seq)))
        (fix.stream, fix.seq) = (StreamID("one"), seq)
        return .location(
            id,
            ReceivedUpdate(
                update: LocationUpdate(location: fix, skipped: skipped), skipped: skipped, isLate: isLate,
                isRetained: false))
    }

    static func event(_ id: TrackableID, _ seq: UInt64) throws -> SubscriberEvent {
        .event(
            id,
            TrackingEvent(
                id: "e\(seq)", stream: try #require(StreamID("one")), seq: seq, time: UnixTime(5), kind: .lowBattery))
    }
}

extension LiveUpdate {
    /// The frame as text.
    var text: String { String(buffer: self.frame) }
    /// `van position 3`.
    var summary: String { "\(self.trackable) \(self.kind.rawValue) \(self.id.number)" }
    /// `true` if the update reports that the trackable no longer has a value of this kind, such as a position or a
    /// trip.
    var isCleared: Bool { self.payload == JSONValue.object(["trackable": .text(self.trackable.rawValue)]).json }
}

extension LiveHubState.Opening {
    /// The first events of the stream, such as `snapshot: van position 3, …`.
    var summary: String {
        switch self {
        case .snapshot(let updates): "snapshot: \(updates.map(\.summary).joined(separator: ", "))"
        case .resumed(let updates): "resumed: \(updates.map(\.summary).joined(separator: ", "))"
        case .gap(let since, let isAnew, let cleared, let updates):
            "\(isAnew ? "anew" : "gap") since \(since.seconds): \((cleared + updates).map(\.summary).joined(separator: ", "))"
        }
    }
}
