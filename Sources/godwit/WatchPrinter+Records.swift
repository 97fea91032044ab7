import GodwitOptions
import TrackingCore

/// Converts trips, events and positions to text for people and to GeoJSON.
extension WatchPrinter {
    /// The largest number of characters that are shown of an event's detail, its additional JSON data.
    private static let longestDetail = 200

    /// Returns a trip as text: its mode of travel, distance and duration, such as `bicycle 1.2 km 0:05:05`.
    static func describe(_ trip: Trip, _ units: DisplayUnits) -> String {
        "\(trip.mode.printable) \(units.distance(Meters(trip.distance))) \(self.clock(trip.duration))"
    }

    /// Returns a number of seconds, 0 or more, as text in hours, minutes and seconds: `0:05:05`.
    static func clock(_ seconds: Double) -> String {
        let seconds = Int(min(seconds, 1e9).rounded())
        let parts = [seconds / 60 % 60, seconds % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
        return "\(seconds / 3600):\(parts.joined(separator: ":"))"
    }

    /// Returns the match of a position with a road as text: `on Main Street`, `presumed on Main Street`, `off the road`.
    static func road(_ enhancement: Enhancement) -> String {
        switch enhancement.confidence {
        case .matched: "on \(self.name(of: enhancement))"
        case .presumed: "presumed on \(self.name(of: enhancement))"
        case .offRoad: "off the road"
        }
    }

    /// Returns the name of the road, or its class if it has none: `Main Street`, `a service_other road`.
    static func name(of enhancement: Enhancement) -> String {
        (enhancement.road ?? enhancement.roadClass.map { "a \($0) road" } ?? "a road").printable
    }

    /// Returns the estimated arrival at the next stop as text: `stop 4711 at 14:32:10 in 4.2 km EN_ROUTE`.
    static func describe(_ estimate: Estimate, _ units: DisplayUnits) -> String {
        guard let stop = estimate.nextStop else { return "arrived at all stops" }
        let parts = [
            "stop \(stop.id.printable)", stop.eta.map { "at \(TimeText.local($0))" },
            stop.distance.map { "in \(units.distance($0))" }, stop.status.rawValue,
        ]
        return parts.compactMap(\.self).joined(separator: " ")
    }

    /// Returns a tracking event as one line of text: its kind and its detail, the additional JSON data. A long detail
    /// is cut.
    static func describe(_ event: TrackingEvent) -> String {
        guard !event.detail.isEmpty else { return event.kind.rawValue.printable }
        let detail = self.detail(event)
        let shown = detail.prefix(self.longestDetail)
        let rest = shown.endIndex == detail.endIndex ? "" : "…"
        return "\(event.kind.rawValue.printable) \(String(shown).printableJSON.prefix(self.longestDetail))\(rest)"
    }

    /// Returns the detail of a tracking event, its additional data, as the text of a JSON object.
    static func detail(_ event: TrackingEvent) -> String {
        String(decoding: JSONValue.object(event.detail).json, as: UTF8.self)
    }

    /// Returns a trip as the text of a GeoJSON Feature. Its geometry is the trip's last place, and its properties are
    /// the other members of the trip's message.
    static func feature(_ id: TrackableID, _ trip: Trip) -> String {
        var rest = trip
        (rest.startLocation, rest.lastLocation) = (nil, nil)
        return self.feature(id, trip.lastLocation, "trip", MessageCodec.encode(rest))
    }

    /// Returns a tracking event as the text of a GeoJSON Feature. Its geometry is the event's place, and its properties
    /// are the other members of the event's message.
    static func feature(_ id: TrackableID, _ event: TrackingEvent) -> String {
        var rest = event
        rest.location = nil
        return self.feature(id, event.location, "event", MessageCodec.encode(rest))
    }

    /// Returns a position as the text of a GeoJSON Feature. Two of its properties are the position's kind, measured or
    /// predicted, and the name of its road if there is one.
    static func feature(
        _ id: TrackableID, _ point: Location, _ kind: LocationUpdate.Kind, road: String? = nil
    ) -> String {
        let properties = "\"properties\":{"
        let road = road.map { "\"road\":\(self.quoted($0))," } ?? ""
        let feature = String(decoding: LocationCodec.encodeFeature(point), as: UTF8.self)
        let members = feature.dropFirst().replacing(
            properties, with: "\(properties)\"type\":\(self.quoted(kind.rawValue)),\(road)", maxReplacements: 1)
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

extension Estimate {
    /// The first stop at which the trackable has not arrived; `nil` after the last arrival.
    var nextStop: Stop? { self.stops.first { $0.status != .arrived } }
}
