import GodwitOptions
import TrackingCore

/// Converts trips, events and positions to text for people and to GeoJSON.
extension WatchPrinter {
    /// The largest number of characters of an event's detail that are shown to people.
    private static let longestDetail = 200

    /// Returns the mode, the distance and the duration of a trip as text: `bicycle 1.2 km 0:05:05`.
    static func describe(_ trip: Trip, _ units: DisplayUnits) -> String {
        "\(trip.mode.printable) \(units.distance(Meters(trip.distance))) \(self.clock(trip.duration))"
    }

    /// Returns a number of seconds, 0 or more, as text in hours, minutes and seconds: `0:05:05`.
    static func clock(_ seconds: Double) -> String {
        let seconds = Int(min(seconds, 1e9).rounded())
        let parts = [seconds / 60 % 60, seconds % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
        return "\(seconds / 3600):\(parts.joined(separator: ":"))"
    }

    /// Returns the kind and the detail of an event as one line of text; a long detail is cut.
    static func describe(_ event: TrackingEvent) -> String {
        guard !event.detail.isEmpty else { return event.kind.rawValue.printable }
        let detail = self.detail(event)
        let shown = detail.prefix(self.longestDetail)
        let rest = shown.endIndex == detail.endIndex ? "" : "…"
        return "\(event.kind.rawValue.printable) \(String(shown).printableJSON.prefix(self.longestDetail))\(rest)"
    }

    /// Returns the detail of an event as a JSON object.
    static func detail(_ event: TrackingEvent) -> String {
        String(decoding: JSONValue.object(event.detail).json, as: UTF8.self)
    }

    /// Returns a trip as a GeoJSON Feature: its last place, and the other members of the message as properties.
    static func feature(_ id: TrackableID, _ trip: Trip) -> String {
        var rest = trip
        (rest.startLocation, rest.lastLocation) = (nil, nil)
        return self.feature(id, trip.lastLocation, "trip", MessageCodec.encode(rest))
    }

    /// Returns an event as a GeoJSON Feature: its place, and the other members of the message as properties.
    static func feature(_ id: TrackableID, _ event: TrackingEvent) -> String {
        var rest = event
        rest.location = nil
        return self.feature(id, event.location, "event", MessageCodec.encode(rest))
    }

    /// Returns a position as a GeoJSON Feature, with its kind (measured or predicted) among the properties.
    static func feature(_ id: TrackableID, _ point: Location, _ kind: LocationUpdate.Kind) -> String {
        let properties = "\"properties\":{"
        let feature = String(decoding: LocationCodec.encodeFeature(point), as: UTF8.self)
        let members = feature.dropFirst().replacing(
            properties, with: "\(properties)\"type\":\(self.quoted(kind.rawValue)),", maxReplacements: 1)
        return "{\"id\":\(self.quoted(id.rawValue)),\(members)"
    }

    private static func feature(_ id: TrackableID, _ place: Location?, _ name: String, _ message: [UInt8]) -> String {
        let numbers = [place?.coordinate.longitude, place?.coordinate.latitude, place?.altitude].compactMap(\.self)
        let geometry =
            place == nil ? "null" : "{\"type\":\"Point\",\"coordinates\":\(numbers)}"
        let members = String(decoding: message, as: UTF8.self).dropFirst()
        return "{\"id\":\(self.quoted(id.rawValue)),\"type\":\"Feature\",\"geometry\":\(geometry),"
            + "\"properties\":{\"event\":\"\(name)\",\(members)}"
    }
}
